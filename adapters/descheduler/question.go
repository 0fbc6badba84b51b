package descheduler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

const (
	// promised is how long a yes counts while the pod is still on its node: strategies ask about more pods than they evict.
	promised = 10 * time.Second
	// expected is how long a pod that has left counts while nobody has seen the pod in its place.
	expected = 5 * time.Minute
	// most is how many pods of one node may be promised: which of them go is not known, so each set of them is asked about.
	most = 4
	// latest is how many of the pods of other nodes that were promised last count: strategies evict soon after they have asked.
	latest = 8
)

// question is what a caller wants to know of a pod.
type question struct {
	mode    Mode
	leaving bool
	among   map[string]bool // nil: all nodes
	// balances has the actions of the constraints whose domains below the average give among; nil: among is what it is.
	balances []v1.UnsatisfiableConstraintAction
	now      time.Time
}

// departed is a pod that was let go.
type departed struct {
	pod  *v1.Pod
	q    question
	left int // the place among the pods that left; 0 while it is on its node
}

// letGo returns why the pod has to stay, or remembers that it goes. An error means that it is not known.
func (f *follower) letGo(pod *v1.Pod, q question) (why string, err error) {
	f.asking.Lock()
	defer f.asking.Unlock()
	shown, gone, err := f.catchUp()
	if err != nil {
		return "", err
	}
	for _, pod := range gone {
		for i, d := range f.gone {
			if d.left == 0 && same(d.pod, pod) {
				f.departures++
				f.gone[i].left = f.departures
			}
		}
	}
	f.forget(shown, q.now)
	if pod.Spec.NodeName == "" || f.snapshot.Slot(pod.Spec.NodeName) < 0 {
		return "", fmt.Errorf("spec.nodeName %q: no such node", pod.Spec.NodeName)
	}
	if s := pod.Spec.SchedulerName; s != "" && s != v1.DefaultSchedulerName {
		return "", fmt.Errorf("spec.schedulerName %q: only pods of %s are decided", s, v1.DefaultSchedulerName)
	}
	if q.balances != nil {
		if q.among, err = f.belowAverage(pod, q.balances); err != nil {
			return "", err
		}
		if len(q.among) == 0 {
			return "no domain is below the average of a violated constraint", nil
		}
	}
	asked := departed{pod: pod, q: q}
	others := slices.DeleteFunc(slices.Clone(f.gone), func(d departed) bool { return same(d.pod, pod) })
	left := slices.DeleteFunc(slices.Clone(others), func(d departed) bool { return !f.left(d.pod) })
	slices.SortStableFunc(left, func(a, b departed) int { return cmp.Compare(a.left, b.left) })
	var here, elsewhere []departed // that may go or not
	for _, d := range others {
		switch {
		case f.left(d.pod):
		case d.pod.Spec.NodeName == pod.Spec.NodeName:
			here = append(here, d)
		default:
			elsewhere = append(elsewhere, d)
		}
	}
	if len(here) > most {
		return fmt.Sprintf("%d pods of the node may be evicted already", len(here)), nil
	}
	var sets [][]departed
	for bits := range 1 << len(here) {
		some := slices.Clone(left)
		for i, d := range here {
			if bits>>i&1 == 1 {
				some = append(some, d)
			}
		}
		sets = append(sets, some)
	}
	if len(elsewhere) > 0 { // and if all go that may
		sets = append(sets, slices.Concat(left, elsewhere[max(0, len(elsewhere)-latest):], here))
	}
	for _, before := range sets {
		if why, err = f.oneByOne(append(slices.Clip(before), asked)); err != nil || why != "" {
			return why, err
		}
		if why, err = f.together(append(slices.Clip(before), asked)); err != nil || why != "" {
			return why, err
		}
	}
	f.gone = append(others, asked)
	return "", nil
}

// left reports whether the informers show that a pod has left its node, or is about to.
func (f *follower) left(pod *v1.Pod) bool {
	on := f.snapshot.Pod(pod.Namespace, pod.Name)
	return on == nil || on.UID != pod.UID || on.DeletionTimestamp != nil
}

// oneByOne returns why the last pod has to stay if each of them is decided when those before it have their nodes.
func (f *follower) oneByOne(all []departed) (why string, err error) {
	return f.decide(all, len(all)-1, func(i int) []departed { return all[i : i+1] })
}

// together returns why the last pod has to stay if all are gone and the scheduler then takes them by priority and in this order: the new pod
// must not send another one back.
func (f *follower) together(all []departed) (why string, err error) {
	slices.SortStableFunc(all, func(a, b departed) int { return cmp.Compare(preemption.Priority(b.pod), preemption.Priority(a.pod)) })
	return f.decide(all, 0, func(i int) []departed {
		if i == 0 {
			return all
		}
		return nil
	})
}

// decide gives nodes to the pods in the place of all, in their order, and takes everything back. Pods from index judged on have to find what
// their questions ask for. leave returns the pods that leave before the decision about a pod.
func (f *follower) decide(all []departed, judged int, leave func(i int) []departed) (why string, err error) {
	var placed []*v1.Pod
	err = f.snapshot.Try(func() (keep bool, err error) {
		defer func() { // what Assume reserves outside the snapshot
			for _, next := range slices.Backward(placed) {
				err = errors.Join(err, f.placer.Forget(next))
			}
		}()
		for i, d := range all {
			for _, l := range leave(i) {
				if err := f.leave(l); err != nil {
					return false, err
				}
			}
			next, err := f.successor(d.pod, i)
			if err != nil {
				return false, err
			}
			slot, reason, err := f.place(next, d)
			if err != nil {
				return false, err
			}
			if reason != "" && i >= judged {
				why = reason
				return false, nil
			}
			if slot < 0 {
				continue
			}
			if err := f.placer.Assume(next, f.placer.Prepare(next).Decision(slot)); err != nil {
				return false, err
			}
			placed = append(placed, next)
		}
		return false, nil
	})
	return why, err
}

// place returns the node that the scheduler takes for a pod, -1 for none, and why the pod in whose place it comes has to stay.
func (f *follower) place(next *v1.Pod, d departed) (slot int, why string, err error) {
	attempt := f.placer.Prepare(next)
	found := attempt.Search(placement.Options{})
	if found.Err != nil {
		return -1, "", found.Err
	}
	if len(found.Feasible) == 0 {
		failure := f.placer.Decide(next, placement.Options{}).Failure
		if failure.Err != nil {
			return -1, "", failure.Err
		}
		return -1, failure.Text(), nil
	}
	_, totals, err := attempt.Scores(found.Feasible)
	if err != nil {
		return -1, "", err
	}
	allowed := func(i int) bool {
		name := f.snapshot.Node(i).Name
		return name != d.pod.Spec.NodeName && (d.q.among == nil || d.q.among[name])
	}
	best := slices.Max(totals)
	slot = found.Feasible[slices.Index(totals, best)]
	if d.q.mode == Fits {
		if !slices.ContainsFunc(found.Feasible, allowed) {
			why = "no other node takes the pod"
		}
		return slot, why, nil
	}
	for k, i := range found.Feasible {
		if totals[k] == best && !allowed(i) {
			return slot, "the scheduler may choose " + f.snapshot.Node(i).Name, nil
		}
	}
	return slot, "", nil
}

// leave takes a pod off its node, or makes it a terminating one, as its question wants. A pod that is gone already stays gone.
func (f *follower) leave(d departed) error {
	if on := f.snapshot.Pod(d.pod.Namespace, d.pod.Name); on == nil || on.UID != d.pod.UID {
		return nil
	}
	if d.q.leaving {
		if d.pod.DeletionTimestamp != nil {
			return nil
		}
		leaving := d.pod.DeepCopy()
		leaving.DeletionTimestamp = &metav1.Time{Time: d.q.now}
		return f.snapshot.Set(leaving)
	}
	if err := f.snapshot.Remove(d.pod); err != nil {
		return err
	}
	return f.leaveClaims(d.pod)
}

// forget drops each pod whose owner has a new pod on a node, and each pod whose time has passed.
func (f *follower) forget(shown []*v1.Pod, now time.Time) {
	f.gone = slices.DeleteFunc(f.gone, func(d departed) bool {
		age := now.Sub(d.q.now)
		return age > expected || age > promised && !f.left(d.pod)
	})
	for _, pod := range shown {
		owner := metav1.GetControllerOf(pod)
		if owner == nil || pod.DeletionTimestamp != nil {
			continue
		}
		i := slices.IndexFunc(f.gone, func(d departed) bool {
			was := metav1.GetControllerOf(d.pod)
			return was != nil && was.UID == owner.UID && f.left(d.pod)
		})
		if i >= 0 {
			f.gone = slices.Delete(f.gone, i, i+1)
		}
	}
}

func same(a, b *v1.Pod) bool { return a.Namespace == b.Namespace && a.Name == b.Name && a.UID == b.UID }
