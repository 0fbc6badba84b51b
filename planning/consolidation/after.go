package consolidation

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
)

// After returns the cluster that a plan of this planner leaves: the pods of its moves on their new nodes, its new nodes, and neither its emptied
// nodes nor the pods that leave with them. Nodes that are freed and not removed are there. The snapshot is the caller's. The error names a pod or a
// node that the planner does not know, or a move that the filters refuse, or is that of a snapshot. One decision a move.
func (p *Planner) After(plan *Plan) (_ *cluster.Snapshot, err error) {
	defer must.Catch(&err)
	loadOf := map[*v1.Pod]*load{}
	for i := range p.loads {
		loadOf[p.loads[i].old] = &p.loads[i]
	}
	s := p.base.Fork()
	for i := range p.nodes {
		if p.nodes[i].kind != nil {
			must.Do(s.Remove(s.Node(i))) // a node that could be added
		}
	}
	for _, a := range plan.Added {
		must.Do(s.Set(a.Node))
	}
	placer := must.Get(placement.NewPlacer(s, p.real))
	for _, wave := range plan.Waves {
		for _, m := range wave {
			if loadOf[m.Pod] == nil {
				return nil, fmt.Errorf("consolidation: pod %s/%s: Not found: the plan is not of this planner", m.Pod.Namespace, m.Pod.Name)
			}
			takeOff(s, m.Pod)
		}
		for _, m := range wave {
			fresh := prepare(s, loadOf[m.Pod])
			d := placer.Decide(nominated(fresh, m.To), placement.Options{})
			if d.Node != m.To {
				return nil, fmt.Errorf("consolidation: pod %s/%s: node %s refuses it: the plan is not of this planner", m.Pod.Namespace, m.Pod.Name, m.To)
			}
			must.Do(placer.Assume(fresh, d))
		}
	}
	for _, n := range plan.Nodes {
		i := p.base.Slot(n.Node)
		if i < 0 {
			return nil, fmt.Errorf("consolidation: node %q: Not found: the plan is not of this planner", n.Node)
		}
		if !p.removes() {
			continue
		}
		for _, pod := range p.nodes[i].tied {
			takeOff(s, pod)
		}
		must.Do(s.Remove(s.Node(i)))
	}
	return s, nil
}
