package consolidation

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
)

// Replay is what becomes of a plan whose moves nobody pins.
type Replay struct {
	// Same is the number of pods that kube-scheduler places where the plan does.
	Same int
	// Elsewhere are the moves that end on other nodes, Nodes says where, in the same order.
	Elsewhere []Move
	Nodes     []string
	// Pending are the moves whose pods find no node any more.
	Pending []Move
}

// Replay evicts the pods of a plan of this planner, wave by wave, with the nodes of the plan cordoned, and lets the profile choose
// the node of each new pod as kube-scheduler does; of equal nodes it takes the first. The error names a pod that the planner does
// not know, or is that of a snapshot. The cost is one decision for each move.
func (p *Planner) Replay(plan *Plan) (_ *Replay, err error) {
	defer must.Catch(&err)
	loadOf := map[*v1.Pod]*load{}
	for i := range p.loads {
		loadOf[p.loads[i].old] = &p.loads[i]
	}
	r := p.newRun(choice{})
	for _, a := range plan.Added {
		must.Do(r.snapshot.Set(a.Node))
	}
	for _, n := range plan.Nodes {
		slot := p.base.Slot(n.Node)
		if slot < 0 {
			return nil, fmt.Errorf("consolidation: node %q: Not found: the plan is not of this planner", n.Node)
		}
		must.Do(r.snapshot.Set(p.cordoned(slot)))
	}
	placer := must.Get(placement.NewPlacer(r.snapshot, p.real))
	out := &Replay{}
	for _, wave := range plan.Waves {
		for _, m := range wave {
			if loadOf[m.Pod] == nil {
				return nil, fmt.Errorf("consolidation: pod %s/%s: Not found: the plan is not of this planner", m.Pod.Namespace, m.Pod.Name)
			}
			takeOff(r.snapshot, m.Pod)
		}
		for _, m := range wave {
			fresh := prepare(r.snapshot, loadOf[m.Pod])
			d := placer.Decide(fresh, placement.Options{})
			if !d.Placed() {
				out.Pending = append(out.Pending, m)
				continue
			}
			must.Do(placer.Assume(fresh, d))
			if d.Node == m.To {
				out.Same++
				continue
			}
			out.Elsewhere, out.Nodes = append(out.Elsewhere, m), append(out.Nodes, d.Node)
		}
	}
	return out, nil
}

// Step returns the plan that empties one node: the one that saves most, and of these the one with the fewest moves. A plan without
// nodes says that no single node can be emptied. For controllers that act step by step: ask again when the pods run. No node is
// added. The options Steps and Seed have no effect. The error is that of [Plan]. One decision for each pod that may move.
func (p *Planner) Step(o Options) (_ *Plan, err error) {
	defer must.Catch(&err)
	x := p.newSearch(o)
	order, untried := x.byPrice(), 0
	for k, i := range order {
		if x.stopped() {
			untried = len(order) - k
			break
		}
		if !x.allows(i) {
			continue
		}
		m := x.mark()
		if x.clear(i) {
			if plan := p.order(x.chosen()); len(plan.Nodes) > 0 {
				plan.Bound, plan.Kept = x.bound, p.kept()
				return plan, nil
			}
		}
		x.takeBack(m)
	}
	plan := p.order(choice{})
	plan.Bound, plan.Untried, plan.Kept = x.bound, untried, p.kept()
	return plan, nil
}
