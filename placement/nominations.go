package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement/internal/reuse"
)

// decidedByOwn reports whether the attempt decides without the engine: the node to which the pod is nominated is feasible, or the pod is rejected
// before any node.
func (n *asksNominated) decidedByOwn() bool {
	name := n.pod.Status.NominatedNodeName
	if name == "" {
		return false
	}
	i, known := n.plan.Slot(name)
	return known && n.options.about(i) && (!n.prepare() || n.check(i).Verdict == 0)
}

// addOthers adds to a question the nodes that only nominated pods make infeasible. matter reports whether a nomination matters to the pod.
// addOthers reports false when the attempt decides without the engine: the pod is rejected before any node, or a plugin fails.
func (n *asksNominated) addOthers(q *reuse.Question, opened *reuse.Opened) (matter, ok bool) {
	o, p := &n.options, n.plan
	if o.Nominated == nil {
		return n.attempt != nil, true
	}
	if own := opened.Own(); o.NominatedSlots != nil && own.Pods != "" && o.within == nil {
		q.Without, matter, ok = p.holds.without(&asksKept{asksNominated: n, opened: *opened}, nominationsKind{own, podinfo.Priority(n.pod)}, p.log)
		return matter || n.attempt != nil, ok
	}
	for _, i := range p.slotsOfNominated(o) {
		switch n.ask(i, o.Nominated(i)) {
		case inTheWay:
			q.Without.Add(i)
		case undecided:
			return true, false
		}
	}
	return n.attempt != nil, true
}

// slotsOfNominated returns the slots that the question is about and that may have nominated pods.
func (p *Plan) slotsOfNominated(o *Options) []int {
	switch {
	case o.NominatedSlots == nil && o.within == nil:
		return p.order()
	case o.NominatedSlots == nil:
		return o.within
	case o.within == nil:
		return o.NominatedSlots
	}
	var out []int
	for _, i := range o.within {
		if slices.Contains(o.NominatedSlots, i) {
			out = append(out, i)
		}
	}
	return out
}

// asksNominated asks about nodes with nominated pods. The attempt is made when the first node needs it.
type asksNominated struct {
	plan    *Plan
	pod     *v1.Pod
	options Options
	attempt *Attempt
	check   func(i int) filter.Rejection
}

// prepare reports false when the pod is rejected before any node.
func (n *asksNominated) prepare() bool {
	if n.attempt == nil {
		n.attempt = n.plan.attempt(n.pod, n.options)
		n.check = n.attempt.checked(n.options)
	}
	return !n.attempt.Rejected()
}

// hold is what the pods that are nominated to a node do to another pod.
type hold uint8

const (
	noHold    hold = iota // none of them counts
	harmless              // the node is as feasible as without them
	inTheWay              // the node is feasible without them alone
	undecided             // the pod is rejected before any node, or a plugin fails
)

// ask asks about one slot with nominated pods.
func (n *asksNominated) ask(i int, nominated []*v1.Pod) hold {
	if !n.matter(i, nominated) {
		return noHold
	}
	if !n.prepare() {
		return undecided
	}
	return n.attempt.hold(i, n.check)
}

// matter reports whether one of the pods that are nominated to a slot counts. A slot without a node has none.
func (n *asksNominated) matter(i int, nominated []*v1.Pod) bool {
	return len(filter.Nominated(n.pod, nominated)) > 0 && n.plan.has(i)
}

// hold says what the predicates find on a slot with nominated pods. check asks them with these pods.
func (a *Attempt) hold(i int, check func(i int) filter.Rejection) hold {
	switch r := check(i); {
	case r.Verdict == 0:
		return harmless
	case a.Predicates.Err(r, i) != nil:
		return undecided
	case a.Predicates.First(i).Verdict == 0:
		return inTheWay
	}
	return harmless
}
