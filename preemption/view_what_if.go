package preemption

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// WhatIfOver returns a [WhatIf] that needs no compiled filters: rejects asks the caller's own rules. rejects gets a view of the cluster
// in which pods have left or come, and a slot. It returns the reasons why the preemptor does not fit there, the first filter's as in
// kube-scheduler, and none when it fits. rejects must not keep the view. Len and Node of the view are those of c. c must not change
// while the WhatIf is used. Pods are told apart by namespace and name.
//
// rejects counts pods that are nominated to the slot itself. A rule that no removed pod can help belongs in [Request.Rejections].
//
// Cost: O(pods of the slot) for Add and Remove, and one call of rejects for Check. Trials of package filter are faster for rules that
// count pods on other nodes: package placement uses them.
func WhatIfOver(c Cluster, rejects func(view Cluster, i int) []string) WhatIf {
	return &viewWhatIf{view: changedView{c, map[int][]*v1.Pod{}}, rejects: rejects}
}

// viewWhatIf is the answer of WhatIfOver.
type viewWhatIf struct {
	view    changedView
	rejects func(view Cluster, i int) []string
	reasons []string // of the last Check
}

// rejected is the verdict of every rejection: what it means is in the reasons.
const rejected resources.Verdict = 1

func (w *viewWhatIf) Check(i int) Answer {
	w.reasons = w.rejects(w.view, i)
	if len(w.reasons) == 0 {
		return Answer{}
	}
	return Answer{Verdict: rejected}
}

func (w *viewWhatIf) Add(p *v1.Pod, i int) { w.view.pods[i] = append(w.view.of(i), p) }

func (w *viewWhatIf) Remove(p *v1.Pod, i int) {
	w.view.pods[i] = slices.DeleteFunc(w.view.of(i), func(q *v1.Pod) bool { return q.Namespace == p.Namespace && q.Name == p.Name })
}

func (w *viewWhatIf) Reset() { clear(w.view.pods) }

func (w *viewWhatIf) Reasons(int, Answer) ([]string, bool) { return w.reasons, false }

func (w *viewWhatIf) Err(int, Answer) error { return nil }

// changedView is a cluster in which pods have left or come.
type changedView struct {
	Cluster
	pods map[int][]*v1.Pod // of the slots that have changed
}

// of returns the pods of slot i, in memory of the view's own.
func (c changedView) of(i int) []*v1.Pod {
	if pods, ok := c.pods[i]; ok {
		return pods
	}
	return slices.Collect(c.Cluster.Pods(i))
}

func (c changedView) Pods(i int) iter.Seq[*v1.Pod] {
	if pods, ok := c.pods[i]; ok {
		return slices.Values(pods)
	}
	return c.Cluster.Pods(i)
}
