package consolidation

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podclaims"
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
// not know, or is that of a snapshot. One decision a move.
func (p *Planner) Replay(plan *Plan) (*Replay, error) {
	loadOf := map[*v1.Pod]*load{}
	for i := range p.loads {
		loadOf[p.loads[i].old] = &p.loads[i]
	}
	r, err := p.newRun(choice{})
	if err != nil {
		return nil, err
	}
	for _, a := range plan.Added {
		if err := r.snapshot.Set(a.Node); err != nil {
			return nil, err
		}
	}
	for _, n := range plan.Nodes {
		slot := p.base.Slot(n.Node)
		if slot < 0 {
			return nil, fmt.Errorf("consolidation: node %q: Not found: the plan is not of this planner", n.Node)
		}
		if err := r.snapshot.Set(p.cordoned(slot)); err != nil {
			return nil, err
		}
	}
	placer, err := placement.NewPlacer(r.snapshot, p.real)
	if err != nil {
		return nil, err
	}
	out := &Replay{}
	for _, wave := range plan.Waves {
		for _, m := range wave {
			if loadOf[m.Pod] == nil {
				return nil, fmt.Errorf("consolidation: pod %s/%s: Not found: the plan is not of this planner", m.Pod.Namespace, m.Pod.Name)
			}
			if err := r.snapshot.Unset(m.Pod); err != nil {
				return nil, err
			}
			if err := podclaims.Release(r.snapshot, m.Pod); err != nil {
				return nil, err
			}
		}
		for _, m := range wave {
			fresh, err := prepare(r.snapshot, loadOf[m.Pod])
			if err != nil {
				return nil, err
			}
			d := placer.Decide(fresh, placement.Options{})
			if !d.Placed() {
				out.Pending = append(out.Pending, m)
				continue
			}
			if err := placer.Assume(fresh, d); err != nil {
				return nil, err
			}
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
// added. The options Steps and Seed have no effect. The error is that of Plan. One decision for each pod that may move.
func (p *Planner) Step(o Options) (*Plan, error) {
	x, err := p.newSearch(o)
	if err != nil {
		return nil, err
	}
	order := x.byPrice()
	for _, i := range order {
		if x.stopped() {
			break
		}
		if !x.allows(i) {
			continue
		}
		m := x.mark()
		ok, err := x.clear(i)
		if err != nil {
			return nil, err
		}
		c := x.chosen()
		x.takeBack(m)
		if !ok {
			continue
		}
		plan, err := p.order(c)
		if err != nil {
			return nil, err
		}
		if len(plan.Nodes) > 0 {
			plan.Bound, plan.Kept = x.bound, p.kept()
			return plan, nil
		}
	}
	plan, err := p.order(choice{})
	if err != nil {
		return nil, err
	}
	plan.Bound, plan.Kept = x.bound, p.kept()
	return plan, nil
}
