package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/preemption"
)

// Settles reports whether the filters allow the pod on slot i in a cluster without the pods that leave. Check asks the same of
// v1.37's trial, in which pods are removed from what the filters have counted. The trial differs, for example, if a terminating
// pod leaves: a spread constraint never counted that pod. Settles returns true if the trial is exact, and for a cluster that is
// no snapshot. O(nodes) for filters that count pods.
func (w *whatIf) Settles(i int, leave []preemption.Placed) bool {
	exact := len(w.moving) == 0 || len(w.moving) == 1 && w.rows >= 0
	if exact || !w.settle() {
		return true
	}
	s := w.settled.snapshot
	mark := s.Mark()
	defer s.Rollback(mark)
	for _, q := range leave {
		if s.Remove(q.Pod) != nil {
			return false // not a pod of the cluster
		}
	}
	a := w.settled.Prepare(w.attempt.pod)
	return !a.Rejected() && a.named(i) && a.whatIf(w.options).Check(i).Verdict == 0
}

// NeedsPods reports whether several pods of other nodes that stay may be what gives the pod room: more victims may give less room.
func (w *whatIf) NeedsPods() bool {
	for _, p := range w.attempt.Predicates {
		if n, ok := p.(interface{ NeedsPods(pod *v1.Pod) bool }); ok && n.NeedsPods(w.attempt.pod) {
			return true
		}
	}
	return false
}

// settle makes the plan over a fork. It returns false for a cluster that is no snapshot.
func (w *whatIf) settle() bool {
	if w.settled != nil {
		return true
	}
	p := w.attempt.plan
	s, ok := p.cluster.(*cluster.Snapshot)
	if !ok {
		return false
	}
	fork, err := (&Placer{p, s}).WithNodes()
	w.settled = fork
	return err == nil
}

// named reports whether slot i is among the nodes that the plugins named.
func (a *Attempt) named(i int) bool {
	if a.Pre.Nodes == nil {
		return true
	}
	return slices.Contains(a.Pre.Nodes, a.plan.cluster.Node(i).Name)
}
