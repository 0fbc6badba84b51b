package diagnose

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/taints"
)

// Outlook says what would wake a pending pod, and when.
type Outlook struct {
	Pod string `json:"pod"`
	// Events are the events for which the plugins that reject the pod wait.
	Events []WakeEvent `json:"events"`
	// Ends are running pods whose end is known, in the order of their ends, up to the end after which the pod is placed.
	Ends []End `json:"ends"`
	// At is when the pod is placed, if nothing else changes; nil when no known end helps.
	At   *time.Time `json:"at,omitempty"`
	Node string     `json:"node,omitempty"` // where the pod is placed
	// Cut is "stop" when WakeOptions.Stop ended the search: what later ends do is not known.
	Cut string `json:"cut,omitempty"`
}

// WakeEvent is a kind of event for which a plugin waits.
type WakeEvent struct {
	Plugin string `json:"plugin"`
	Event  string `json:"event"` // as in "NodeAdd"
}

// End is a running pod that leaves its node at a known time.
type End struct {
	Pod  string    `json:"pod"`
	Node string    `json:"node"` // the node that it leaves
	At   time.Time `json:"at"`   // when
	Why  string    `json:"why"`  // "grace", "deadline", "taint" or "completion"
	// Wakes reports that a queueing hint of a plugin that rejects the pod lets the event through.
	Wakes bool `json:"wakes"`
}

// WakeOptions configure [Wake]. The zero value knows what the objects say.
type WakeOptions struct {
	// Completes returns when a running pod completes by itself; ok false: nobody knows. nil: nobody knows of any pod.
	Completes func(pod *v1.Pod) (at time.Time, ok bool)
	// Stop is asked before each decision and ends the search when it returns true; nil: never.
	Stop func() bool
}

// Wake says which events would make the scheduler try a pending pod again, and when the running pods leave whose end is known:
// terminating pods (deletionTimestamp has the grace), pods with activeDeadlineSeconds, pods that a NoExecute taint evicts after
// tolerationSeconds, and pods of [WakeOptions.Completes]. The pods leave one after the other with their devices, and after each the
// pod is decided again. A pod that has a node as things are has no events. A pod with scheduling gates waits for the last gate to go. The errors are those of [Relax]. O(known ends) decisions.
func Wake(in Input, pod *v1.Pod, o WakeOptions) (_ *Outlook, err error) {
	defer must.Catch(&err)
	d := must.Get(begin(in, pod, Options{}))
	out := &Outlook{Pod: podinfo.Name(pod), Events: []WakeEvent{}, Ends: []End{}}
	placer := must.Get(placement.NewPlacer(d.base, d.profileOver(d.base)))
	dec := placer.Decide(d.pod, placement.Options{})
	registered := must.Get(d.profile.Registrations(d.base, release.Current))
	var rejects []string
	switch {
	case len(d.pod.Spec.SchedulingGates) > 0:
		rejects = []string{"SchedulingGates"}
	case dec.Placed():
		out.Node = dec.Node
		return out, nil
	default:
		rejects = dec.Failure.Rejecters
	}
	for _, r := range registered {
		if slices.Contains(rejects, r.Plugin) {
			out.Events = append(out.Events, WakeEvent{r.Plugin, r.Event.String()})
		}
	}
	if len(d.pod.Spec.SchedulingGates) > 0 {
		return out, nil
	}
	type end struct {
		End
		pod *v1.Pod
	}
	var ends []end
	for _, i := range d.slots {
		for p := range d.base.Pods(i) {
			if at, why := endOf(p, d.base.Node(i), d.tolerates, o); why != "" {
				ends = append(ends, end{End{Pod: podinfo.Name(p), Node: d.base.Node(i).Name, At: at, Why: why}, p})
			}
		}
	}
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Pod, b.Pod)) })
	for _, e := range ends {
		if o.Stop != nil && o.Stop() || in.stopped() {
			out.Cut = "stop"
			return out, nil
		}
		for _, r := range registered {
			if r.Hint == nil || e.Wakes || !slices.Contains(rejects, r.Plugin) || r.Event.Resource != "AssignedPod" || r.Event.Action&queue.Delete == 0 {
				continue
			}
			wakes, err := r.Hint(d.pod, e.pod, nil)
			e.Wakes = wakes || err != nil
		}
		takeAway(d.base, e.pod)
		out.Ends = append(out.Ends, e.End)
		dec := placer.Decide(d.pod, placement.Options{})
		if dec.Placed() {
			at := e.At
			out.At, out.Node = &at, dec.Node
			return out, nil
		}
		rejects = dec.Failure.Rejecters
	}
	return out, nil
}

// endOf returns when a running pod leaves its node and why: the earliest of the known ends; "" when none is known.
func endOf(p *v1.Pod, n *v1.Node, tolerates taints.Options, o WakeOptions) (at time.Time, why string) {
	earlier := func(t time.Time, reason string) {
		if why == "" || t.Before(at) {
			at, why = t, reason
		}
	}
	if p.DeletionTimestamp != nil {
		earlier(p.DeletionTimestamp.Time, "grace")
	}
	if p.Spec.ActiveDeadlineSeconds != nil && p.Status.StartTime != nil {
		earlier(p.Status.StartTime.Add(resources.Seconds(*p.Spec.ActiveDeadlineSeconds)), "deadline")
	}
	tolerations := taints.Compile(p.Spec.Tolerations, tolerates)
	for _, t := range n.Spec.Taints {
		if t.TimeAdded == nil {
			continue
		}
		if d := tolerations.Deadline([]v1.Taint{t}); d.Stay == taints.Limited {
			earlier(t.TimeAdded.Add(d.After), "taint")
		}
	}
	if o.Completes != nil {
		if t, ok := o.Completes(p); ok {
			earlier(t, "completion")
		}
	}
	return at, why
}
