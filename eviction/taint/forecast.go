package taint

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/taints/edit"
)

// maxPasses is the largest number of monitor periods in a Forecast. With a period of 5 s that is a year and seven months.
const maxPasses = 10_000_000

// Input is the input of [Forecast].
type Input struct {
	Nodes  []*v1.Node // nodes at the start; a node without a Ready condition counts as ready
	Pods   []*v1.Pod  // pods at the start; pods on other nodes are ignored
	Events []Event    // changes of nodes, in any order
	// Deletions are pods that another controller deletes at known times, in any order; pods that are not in Pods are ignored.
	Deletions []Deletion
	Start     time.Time // time of the start; the zero time is enough without Options.UseTimeAdded
	Until     time.Duration

	Config  Config
	Options Options
}

// Forecast returns what the node lifecycle controller and the taint-eviction controller do when the events happen, from the
// start until Until, inclusive. At the start both controllers see all objects for the first time.
//
// A kubelet that is not silent gives a sign of life at every monitor pass. Monitor passes happen at multiples of the
// monitor period, and services of the queues at multiples of [ServePeriod], from the start. The real controllers drift by up
// to a period. The order at one moment is:
//
//  1. Pods whose time is over are deleted, those of Deletions last.
//  2. Events happen, in an order that does not depend on the order of the input. The controllers see each changed node
//     once.
//  3. The monitor passes over the nodes.
//  4. The queues of the zones are served.
//
// A deleted pod is gone and nothing replaces it. In a real cluster the pod stays Terminating while the kubelet of its node
// is silent. The error names nil and unnamed nodes, nil pods, wrong events, wrong parameters, and an Until of more than 10
// million monitor periods. Cost: O(nodes) for each monitor pass, and O(pods of the node) for each change of a node.
func Forecast(in Input) (Timeline, error) {
	if errs := in.validate(); len(errs) > 0 {
		return Timeline{}, errs.ToAggregate()
	}
	f := &forecast{
		in: in, lifecycle: newLifecycle(in.Config), timers: NewTimers(in.Options), silent: map[string]bool{},
		events: slices.SortedStableFunc(slices.Values(in.Events), compareEvents),
		line:   Timeline{Until: metav1.Duration{Duration: in.Until}, Entries: []Entry{}},
	}
	f.begin()
	for at, ok := time.Duration(0), true; ok && at <= in.Until; at, ok = f.next(at) {
		f.step(at)
	}
	f.end()
	return f.line, nil
}

func (in Input) validate() field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	for i, n := range in.Nodes {
		at := field.NewPath("nodes").Index(i)
		switch {
		case n == nil:
			return append(errs, field.Required(at, "must not be nil"))
		case n.Name == "":
			errs = append(errs, field.Required(at.Child("metadata", "name"), ""))
		case names[n.Name]:
			errs = append(errs, field.Duplicate(at.Child("metadata", "name"), n.Name))
		}
		names[n.Name] = true
	}
	for i, p := range in.Pods {
		if p == nil {
			errs = append(errs, field.Required(field.NewPath("pods").Index(i), "must not be nil"))
		}
	}
	errs = append(errs, ValidateEvents(in.Events, in.Nodes, field.NewPath("events"))...)
	until := field.NewPath("until")
	if in.Until < 0 {
		errs = append(errs, field.Invalid(until, in.Until.String(), "must not be negative"))
	}
	if period := in.Config.monitorPeriod(); in.Until/period > maxPasses {
		errs = append(errs, field.Invalid(until, in.Until.String(), fmt.Sprintf("must be at most %d monitor periods of %v", maxPasses, period)))
	}
	return append(errs, in.Config.Validate(field.NewPath("config"))...)
}

// Deletion is a pod that another controller deletes, such as that of taints of devices (package eviction/devicetaint).
type Deletion struct {
	Pod   types.NamespacedName
	At    time.Time // at once when this is before the start
	Cause string    // for people
}

type forecast struct {
	in        Input
	lifecycle *nodeLifecycle
	timers    *Timers
	events    []Event    // events that have not happened yet
	deletions []Deletion // deletions that have not happened yet
	silent    map[string]bool
	line      Timeline
}

func (f *forecast) time(at time.Duration) time.Time { return f.in.Start.Add(at) }

// begin shows all nodes and pods to the controllers.
func (f *forecast) begin() {
	for _, n := range slices.SortedFunc(slices.Values(f.in.Nodes), func(a, b *v1.Node) int { return cmp.Compare(a.Name, b.Name) }) {
		if _, ok := edit.Ready(n); !ok {
			n = n.DeepCopy()
			setCondition(n, v1.NodeReady, v1.ConditionTrue, f.in.Start)
		}
		f.carry(0, f.lifecycle.SetNode(n, f.in.Start))
		f.act(0, f.timers.SetNode(f.lifecycle.Node(n.Name), f.in.Start))
	}
	pods := slices.SortedStableFunc(slices.Values(f.in.Pods), func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	for _, p := range pods {
		f.act(0, f.timers.SetPod(p, f.in.Start))
	}
	f.expect()
}

// step does what happens at one moment.
func (f *forecast) step(at time.Duration) {
	now := f.time(at)
	f.act(at, f.timers.Advance(now))
	f.delete(at)
	for len(f.events) > 0 && f.events[0].At.Duration <= at {
		f.node(at, f.events[0].Node)
	}
	if at%f.in.Config.monitorPeriod() == 0 {
		for _, n := range f.in.Nodes {
			if !f.silent[n.Name] {
				f.lifecycle.Renew(n.Name, now)
			}
		}
		f.carry(at, f.lifecycle.Pass(now))
	}
	if at%ServePeriod == 0 {
		f.carry(at, f.lifecycle.Serve(now))
	}
}

// node applies the events of one node at one moment.
func (f *forecast) node(at time.Duration, name string) {
	now := f.time(at)
	node := f.lifecycle.Node(name)
	deleted := node == nil
	for len(f.events) > 0 && f.events[0].At.Duration <= at && f.events[0].Node == name {
		e := f.events[0]
		f.events = f.events[1:]
		if deleted {
			continue
		}
		f.add(Entry{At: metav1.Duration{Duration: at}, What: EntryEvent, Node: name, Cause: e.describe()})
		if e.Deleted {
			deleted = true
			f.lifecycle.DeleteNode(name)
			f.timers.DeleteNode(name)
			continue
		}
		if e.Heartbeats != "" {
			f.silent[name] = e.Heartbeats == HeartbeatsStop
		}
		node = e.apply(node, now)
	}
	if deleted {
		return
	}
	f.carry(at, f.lifecycle.SetNode(node, now))
	f.act(at, f.timers.SetNode(f.lifecycle.Node(name), now))
}

// describe returns the text of the event.
func (e Event) describe() string {
	switch {
	case e.Condition != "":
		return fmt.Sprintf("%s=%s", e.Condition, e.Status)
	case e.Taint != "":
		return "taint " + e.Taint
	case e.Heartbeats != "":
		return "heartbeats " + e.Heartbeats
	case e.Unschedulable != nil && *e.Unschedulable:
		return "cordoned"
	case e.Unschedulable != nil:
		return "uncordoned"
	}
	return "node deleted"
}

// next returns the first moment after at at which something can happen. ok is false when a Duration cannot hold that
// moment.
func (f *forecast) next(at time.Duration) (next time.Duration, ok bool) {
	next = tick(at, f.in.Config.monitorPeriod())
	if len(f.events) > 0 {
		next = min(next, f.events[0].At.Duration)
	}
	if fire, ok := f.timers.Next(); ok {
		next = min(next, fire.Sub(f.in.Start))
	}
	if d, ok := f.nextDeletion(); ok {
		next = min(next, d.At.Sub(f.in.Start))
	}
	if serve, ok := f.lifecycle.NextServe(f.time(at)); ok {
		next = min(next, tick(max(serve.Sub(f.in.Start)-1, at), ServePeriod))
	}
	return next, next > at
}

// tick returns the first multiple of period after at. It returns the largest Duration when no Duration holds that multiple.
// at is not negative.
func tick(at, period time.Duration) time.Duration {
	last := at - at%period
	if last > math.MaxInt64-period {
		return math.MaxInt64
	}
	return last + period
}

// end lists the timers that still run, and then the deletions that still wait.
func (f *forecast) end() {
	for _, d := range f.timers.running() {
		f.line.Pending = append(f.line.Pending,
			Pending{d.pod.name.String(), d.pod.node, metav1.Duration{Duration: d.fire.Sub(f.in.Start)}})
	}
	for _, d := range f.deletions {
		if p := f.timers.pods[d.Pod]; p != nil {
			f.line.Pending = append(f.line.Pending, Pending{d.Pod.String(), p.node, metav1.Duration{Duration: d.At.Sub(f.in.Start)}})
		}
	}
}
