package queue

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/release"
)

// Defaults of [Options].
const (
	defaultInitialBackoff = time.Second
	defaultMaxBackoff     = 10 * time.Second
	defaultLeftover       = 5 * time.Minute
	defaultLeftoverPeriod = 30 * time.Second
	defaultScheduler      = v1.DefaultSchedulerName
)

// Options configures a queue. The zero value is that of Kubernetes 1.37: one profile "default-scheduler" with the default
// plugins' events and the gate of spec.schedulingGates.
type Options struct {
	// Release is the release whose queue counts (rules L7.1 to L7.6, L7.11, L7.12 and L9.4). The registrations of Profiles are the caller's.
	Release release.Version
	// InitialBackoff is how long a pod rests after its first failure; 0 is 1 s. Source: podInitialBackoffSeconds.
	InitialBackoff time.Duration
	// MaxBackoff is the longest rest; nil is 10 s, zero means no backoff at all. Source: podMaxBackoffSeconds.
	MaxBackoff *time.Duration
	// Leftover is how long a pod may stay unschedulable without an event; 0 is 5 min. Source: the kube-scheduler flag
	// --pod-max-in-unschedulable-pods-duration.
	Leftover time.Duration
	// LeftoverPeriod is how often Advance looks for leftovers; 0 is 30 s.
	LeftoverPeriod time.Duration
	// Less is the order of active, for all profiles. It must be a strict weak order. Equal entries come in the order of their
	// arrival. nil is PriorityLess.
	Less func(a, b *Entry) bool
	// Profiles maps spec.schedulerName to gates and registrations. nil is the one profile "default-scheduler" with the gate
	// SchedulingGates and DefaultEvents(nil). A pod of an unknown profile has no gates, and every event that some profile
	// registered is worth a retry for the pod.
	Profiles map[string]Profile
	// Known looks a pod up in the caller's pod store. It returns the pod's node, "" for none, and whether the store has the
	// pod. The queue refuses nominations of pods that are unknown or have a node. nil: every pod is known, and its node is its
	// own spec.nodeName.
	Known func(pod *v1.Pod) (nodeName string, ok bool)
	// PodKey returns the key of a pod: pods with equal keys are equal for the scheduler, which calls the key a signature. "" makes the pod
	// equal to no other pod. Entry.PodKey has the key. placement.Profile.PodKey is such a function. nil: no pod has a key.
	PodKey func(pod *v1.Pod) string
	// Legacy has the rules of releases that Release does not know. With them the rest of the queue is that of 1.36, unless Release
	// names another release.
	Legacy Legacy

	// ExactRegistrations turns off what releases up to 1.36 do: every change of a taint wakes pods of plugins that wait for new nodes. There
	// each plugin that registers (Node, Add) without UpdateNodeTaint also gets (Node, UpdateNodeTaint), without a hint.
	ExactRegistrations bool
	// FlushGated makes the leftover flush run the gates of gated pods again, as 1.37 does. Up to 1.36 the flush skips gated pods.
	FlushGated bool
	// SplitRecreated treats an Update between two UIDs as Delete and Add, as 1.37 does. Up to 1.36 the queue keeps the history of the old pod.
	SplitRecreated bool
	// WholeNominations lets NominatedFor return the whole pod for nominated pods that are in no queue. 1.37 returns their
	// name and UID without a spec, so that they protect no room.
	WholeNominations bool
	// GangScheduling sends returned pods with spec.schedulingGroup to backoff, whatever happened. The feature gate is off by
	// default in v1.37. The plugin GangScheduling registers (Pod, Add) and (scheduling.k8s.io/PodGroup, Add) without hints:
	// add them to Profile.Events.
	GangScheduling bool
	// Groups makes the pods of a group one entry; nil: pods of groups are pods like others. Add its Gate and its Events to the profiles.
	Groups *GroupOptions
	// ShareFailures lets equal pods share a failure. While a pod waits unschedulable, active pods with the same PodKey wait
	// too and are not tried, until an event lets one of these pods go. Needs PodKey.
	ShareFailures bool
}

// Legacy has rules of releases before 1.34, the first that [Options.Release] knows. The zero value has none of them.
type Legacy struct {
	// WaitOutBackoff is the rule before 1.33: Pop never takes a pod from backoff, and the ends of backoffs are not aligned to
	// seconds.
	WaitOutBackoff bool
	// CycleCounter is the rule of 1.27 and 1.28. The counts of failures stay those of 1.36.
	//
	//   - There is no log of events, and hints are ignored.
	//   - A returned pod goes to backoff if an event came at or after its scheduling cycle (Failure.Cycle), else to
	//     unschedulable.
	//   - Events match when their masks share a bit. Package history has the events of 1.28.
	//   - An update of a pod in flight queues the pod a second time.
	//   - Assigned pods wake only pods whose required affinity they match.
	//   - Gates run at the end of a backoff and in the leftover flush.
	//   - The ends of backoffs are not aligned to seconds.
	CycleCounter bool
	// NamespaceLabels is read by CycleCounter only, for the namespaceSelector of pod affinity terms. nil: a namespace has
	// the label kubernetes.io/metadata.name and no other.
	NamespaceLabels func(namespace string) map[string]string
}

// Profile is the configuration of one spec.schedulerName: the PreEnqueue gates in the order in which they run, and the events
// that the plugins wait for. The zero value has neither.
type Profile struct {
	Gates  []Gate
	Events []Registration
}

// Gate is a PreEnqueue plugin. Check must be cheap and pure for a given state of the world; nil is not allowed.
type Gate struct {
	Name  string
	Check func(pod *v1.Pod) GateVerdict
}

// GateVerdict is a gate's answer. The zero value allows the pod. An Err refuses the pod too; [Move.Err] has it.
type GateVerdict struct {
	Refuse  bool
	Message string
	Err     error
}

// SchedulingGates returns the gate of spec.schedulingGates. The gate refuses a pod that has scheduling gates, with the message
// "waiting for scheduling gates: [a b]". It allows a nil pod.
func SchedulingGates() Gate {
	return Gate{Name: pluginSchedulingGates, Check: func(pod *v1.Pod) GateVerdict {
		if pod == nil || len(pod.Spec.SchedulingGates) == 0 {
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
func defaultProfiles(v release.Version) map[string]Profile {
	return map[string]Profile{defaultScheduler: {Gates: []Gate{SchedulingGates()}, Events: DefaultEvents(nil, v)}}
}

// validate returns what is wrong with the options: durations that are negative or contradict each other, shared
// failures without signatures, gates without name or function, registrations without plugin or resource. New refuses the same.
func (o Options) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	initial, max := o.backoff()
	if o.InitialBackoff < 0 {
		errs = append(errs, field.Invalid(path.Child("initialBackoff"), initial.String(), "must be greater than 0 (0 means 1s)"))
	}
	if max < 0 {
		errs = append(errs, field.Invalid(path.Child("maxBackoff"), max.String(), "must not be negative"))
	} else if max > 0 && initial > max {
		errs = append(errs, field.Invalid(path.Child("maxBackoff"), max.String(), "must be greater than or equal to initialBackoff "+initial.String()+", or 0 for no backoff"))
	}
	if o.Leftover < 0 {
		errs = append(errs, field.Invalid(path.Child("leftover"), o.Leftover.String(), "must not be negative (0 means 5m)"))
	}
	if o.LeftoverPeriod < 0 {
		errs = append(errs, field.Invalid(path.Child("leftoverPeriod"), o.LeftoverPeriod.String(), "must not be negative (0 means 30s)"))
	}
	if o.ShareFailures && o.PodKey == nil {
		errs = append(errs, field.Required(path.Child("podKey"), "shareFailures needs the keys of pods"))
	}
	if g := o.Groups; g != nil && g.Objects == nil {
		errs = append(errs, field.Required(path.Child("groups", "objects"), "the queue looks for the objects of groups"))
	}
	if g := o.Groups; g != nil && g.Known == nil {
		errs = append(errs, field.Required(path.Child("groups", "known"), "the queue asks how many pods of a group are known"))
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
			of := " (plugin " + r.Plugin + ")"
			if r.Plugin == "" {
				errs = append(errs, field.Required(at.Child("events").Index(i).Child("plugin"), "a registration is known by its plugin"))
			}
			if r.Event.Resource == "" {
				errs = append(errs, field.Required(at.Child("events").Index(i).Child("event", "resource"), `a kind, or "*"`+of))
			} else if !o.hasEvents(r.Event.Resource) && strings.Count(r.Event.Resource, ".") < 2 {
				errs = append(errs, field.Invalid(at.Child("events").Index(i).Child("event", "resource"), r.Event.Resource, "must be a resource of this package or plural.version.group"+of))
			}
			if r.Event.Action <= 0 || r.Event.Action&^All != 0 {
				errs = append(errs, field.Invalid(at.Child("events").Index(i).Child("event", "action"), int64(r.Event.Action), "must be a mask from 1 to 8191"+of))
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
