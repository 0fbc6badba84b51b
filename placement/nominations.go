package placement

import (
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/reuse"
)

// withNominations adds to a question the nodes that only nominated pods make infeasible. The attempt is nil when no nomination
// matters to the pod. withNominations reports false when the attempt decides without the engine: the node to which the pod is
// nominated is feasible, the pod is rejected before any node, or a plugin fails.
func (p *Plan) withNominations(q *reuse.Question, o Options) (a *Attempt, ok bool) {
	var check func(i int) filter.Rejection
	prepare := func() bool {
		if a == nil {
			a = p.attempt(q.Pod, o)
			check = a.checked(o)
		}
		return !a.Rejected()
	}
	if name := q.Pod.Status.NominatedNodeName; name != "" {
		if i, known := p.Slot(name); known && o.about(i) && (!prepare() || check(i).Verdict == 0) {
			return a, false
		}
	}
	if o.Nominated == nil {
		return a, true
	}
	for _, i := range p.slots(o) {
		nominated := o.Nominated(i)
		if len(nominated) == 0 || len(filter.Nominated(q.Pod, nominated)) == 0 {
			continue
		}
		if !prepare() {
			return a, false
		}
		r := check(i)
		if r.Verdict == 0 {
			continue
		}
		if a.Predicates.Err(r, i) != nil {
			return a, false
		}
		if a.Predicates.First(i).Verdict == 0 {
			if q.Without == nil {
				q.Without = map[int]bool{}
			}
			q.Without[i] = true
		}
	}
	return a, true
}
