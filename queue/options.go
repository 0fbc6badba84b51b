package queue

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Defaults of Options.
const (
	defaultInitialBackoff = time.Second
	defaultMaxBackoff     = 10 * time.Second
	defaultLeftover       = 5 * time.Minute
	defaultLeftoverPeriod = 30 * time.Second
	defaultScheduler      = v1.DefaultSchedulerName
)

// Options configures a queue. The zero value is that of Kubernetes 1.36: one profile "default-scheduler" with the default
// plugins' events and the gate of spec.schedulingGates.
type Options struct {
	// InitialBackoff is the rest after the first failure; 0 is 1 s. Source: podInitialBackoffSeconds.
	InitialBackoff time.Duration
	// MaxBackoff bounds the rest; nil is 10 s, zero means no backoff at all. Source: podMaxBackoffSeconds.
	MaxBackoff *time.Duration
	// Leftover is how long a pod may stay unschedulable without an event; 0 is 5 min. Source: the kube-scheduler flag
	// --pod-max-in-unschedulable-pods-duration.
	Leftover time.Duration
	// LeftoverPeriod is how often Advance looks for leftovers; 0 is 30 s.
	LeftoverPeriod time.Duration
	// Less replaces PriorityLess as the order of active, for all profiles. It must be a strict weak order; what it leaves
	// equal is ordered by arrival. nil keeps PriorityLess.
	Less func(a, b *Entry) bool
	// Profiles maps spec.schedulerName to gates and registrations; nil is defaultProfiles(). A pod of an unknown profile
	// has no gates, and every event that interests some profile is worth a retry for it.
	Profiles map[string]Profile
	// Known tells the node that the pod store has for a pod ("" while it has none) and whether the pod is there at all.
	// A nomination is refused for an unknown or an assigned pod. nil judges the given pod by its own spec.nodeName.
	Known func(pod *v1.Pod) (nodeName string, ok bool)
	// Signature returns a key that pods equal for the scheduler share, "" for none; it is kept in Entry.Signature.
	Signature func(pod *v1.Pod) string
	// NamespaceLabels is read by CycleCounter only, for the namespaceSelector of pod affinity terms. nil: a namespace has
	// the label kubernetes.io/metadata.name and no other.
	NamespaceLabels func(namespace string) map[string]string

	// WaitOutBackoff switches popping from backoff off (before 1.33): a pod rests to the end even when nothing is active,
	// and expiries are not aligned to seconds.
	WaitOutBackoff bool
	// ExactRegistrations leaves out what 1.36 adds: (Node, UpdateNodeTaint) without a hint for each plugin that registers
	// Node with Add and without UpdateNodeTaint. With the addition, any change of a taint tries such a plugin's pods again.
	ExactRegistrations bool
	// FlushGated lets the leftover flush run the gates of gated pods again (upstream after 1.36). In 1.36 it skips them.
	FlushGated bool
	// SplitRecreated treats an Update between two UIDs as Delete and Add. 1.36 keeps the history of the old pod.
	SplitRecreated bool
	// WholeNominations lets NominatedFor return the whole pod for nominated pods that are in no queue. 1.36 returns their
	// name and UID without a spec, so that they protect no room.
	WholeNominations bool
	// GangScheduling sends returned pods with spec.schedulingGroup to backoff, whatever happened. The feature gate is off by
	// default in v1.36. The plugin GangScheduling registers (Pod, Add) and (scheduling.k8s.io/PodGroup, Add) without hints:
	// add them to Profile.Events.
	GangScheduling bool
	// ShareFailures lets equal pods share a failure: while a pod waits unschedulable, pods with the same Signature (nil:
	// a key of the namespace, the labels, the controller and all of the spec that schedulers read) that would be active wait with it instead of being tried in vain, until an event lets one of them go.
	ShareFailures bool
	// CycleCounter is the rule of 1.27: no log of events, no hints; a returned pod goes to backoff if a move request came
	// at or after its scheduling cycle, else to unschedulable. See Failure.Cycle. Events match when their masks share a bit (package history has the events of 1.28), updates of pods
	// in flight queue them a second time, assigned pods wake only pods whose required affinity they match, gates run at
	// the end of a backoff and in the leftover flush, expiries are not aligned. Backoff counts are those of 1.36.
	CycleCounter bool
}

// Profile is what one spec.schedulerName brings: the PreEnqueue gates, in the order they run, and what the plugins wait
// for.
type Profile struct {
	Gates  []Gate
	Events []Registration
}

// Gate is a PreEnqueue plugin. Check must be cheap and pure for a given state of the world; nil is not allowed.
type Gate struct {
	Name  string
	Check func(pod *v1.Pod) GateVerdict
}

// GateVerdict is a gate's answer; the zero value allows. Err refuses too, and is handed on in Move.Err.
type GateVerdict struct {
	Refuse  bool
	Message string
	Err     error
}

// SchedulingGates is the gate of spec.schedulingGates: it refuses a pod that has any, "waiting for scheduling gates: [a b]".
func SchedulingGates() Gate {
	return Gate{Name: pluginSchedulingGates, Check: func(pod *v1.Pod) GateVerdict {
		if len(pod.Spec.SchedulingGates) == 0 {
			return GateVerdict{}
		}
		names := make([]string, len(pod.Spec.SchedulingGates))
		for i, g := range pod.Spec.SchedulingGates {
			names[i] = g.Name
		}
		return GateVerdict{Refuse: true, Message: "waiting for scheduling gates: [" + strings.Join(names, " ") + "]"}
	}}
}

// defaultProfiles returns the profile "default-scheduler" with SchedulingGates and DefaultEvents. (In a live scheduler
// DynamicResources and DefaultPreemption have gates too; they need the state of claims and of running preemptions.)
func defaultProfiles() map[string]Profile {
	return map[string]Profile{defaultScheduler: {Gates: []Gate{SchedulingGates()}, Events: DefaultEvents(nil)}}
}

// validate returns what is wrong with the options: durations that are negative or contradict each other, gates without
// name or function, registrations without plugin or resource. New refuses the same.
func (o Options) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	initial, max := o.backoff()
	if initial < 0 {
		errs = append(errs, field.Invalid(path.Child("initialBackoff"), initial.String(), "must be greater than 0 (0 stands for 1s)"))
	}
	if max < 0 {
		errs = append(errs, field.Invalid(path.Child("maxBackoff"), max.String(), "must not be negative"))
	} else if max > 0 && initial > max {
		errs = append(errs, field.Invalid(path.Child("maxBackoff"), max.String(), "must be greater than or equal to initialBackoff "+initial.String()+", or 0 for no backoff"))
	}
	if o.Leftover < 0 {
		errs = append(errs, field.Invalid(path.Child("leftover"), o.Leftover.String(), "must not be negative (0 stands for 5m)"))
	}
	if o.LeftoverPeriod < 0 {
		errs = append(errs, field.Invalid(path.Child("leftoverPeriod"), o.LeftoverPeriod.String(), "must not be negative (0 stands for 30s)"))
	}
	for _, name := range sortedKeys(o.Profiles) {
		at := path.Child("profiles").Key(name)
		for i, g := range o.Profiles[name].Gates {
			if g.Name == "" {
				errs = append(errs, field.Required(at.Child("gates").Index(i).Child("name"), "a gate is known by its name"))
			}
			if g.Check == nil {
				errs = append(errs, field.Required(at.Child("gates").Index(i).Child("check"), "a gate needs a function"))
			}
		}
		for i, r := range o.Profiles[name].Events {
			if r.Plugin == "" {
				errs = append(errs, field.Required(at.Child("events").Index(i).Child("plugin"), "a registration is known by its plugin"))
			}
			if r.Event.Resource == "" {
				errs = append(errs, field.Required(at.Child("events").Index(i).Child("event", "resource"), `a kind, or "*"`))
			} else if !known(r.Event.Resource) && strings.Count(r.Event.Resource, ".") < 2 {
				errs = append(errs, field.Invalid(at.Child("events").Index(i).Child("event", "resource"), r.Event.Resource, "must be a resource of this package or plural.version.group"))
			}
			if r.Event.Action <= 0 || r.Event.Action&^All != 0 {
				errs = append(errs, field.Invalid(at.Child("events").Index(i).Child("event", "action"), int64(r.Event.Action), "must be a mask from 1 to 8191"))
			}
		}
	}
	return errs
}

func (o Options) backoff() (initial, max time.Duration) {
	initial, max = o.InitialBackoff, defaultMaxBackoff
	if initial == 0 {
		initial = defaultInitialBackoff
	}
	if o.MaxBackoff != nil {
		max = *o.MaxBackoff
	}
	return initial, max
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
