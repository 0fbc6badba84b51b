package consolidation

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
)

// Removal is what would happen if one node more were removed after a plan.
type Removal struct {
	Node  string
	Price int64
	// Held is why no plan can empty the node, by Pod when a pod holds it; "" when nothing holds it.
	Held string
	Pod  *v1.Pod
	// Trials are the pods that would have to move, the largest first. Pods that leave with the node, such as those of DaemonSets, are
	// not among them.
	Trials []Trial
}

// Trial is a pod of a node that would be removed.
type Trial struct {
	Pod *v1.Pod
	To  string // the node that would take the pod, "" when none does
	// Why is why no node takes the pod.
	Why string
}

// Stuck returns the first pod that no node takes, nil when all find nodes.
func (r *Removal) Stuck() *Trial {
	for k := range r.Trials {
		if r.Trials[k].To == "" {
			return &r.Trials[k]
		}
	}
	return nil
}

// Removals tries removals over the cluster that a plan leaves. It is not safe for concurrent use.
type Removals struct {
	state *state
	gone  map[string]bool
}

// Removals makes the moves of a plan of this planner. The error names a node or a pod that the planner does not know, or is that of a
// snapshot. O(cluster + moves).
func (p *Planner) Removals(plan *Plan) (_ *Removals, err error) {
	defer must.Catch(&err)
	x := &Removals{state: p.newState(), gone: map[string]bool{}}
	loadOf := map[*v1.Pod]int32{}
	for i := range p.loads {
		loadOf[p.loads[i].old] = int32(i)
	}
	for _, a := range plan.Added {
		must.Do(x.state.snapshot.Set(a.Node))
	}
	for _, n := range plan.Nodes {
		slot := p.base.Slot(n.Node)
		if slot < 0 {
			return nil, fmt.Errorf("consolidation: node %q: Not found: the plan is not of this planner", n.Node)
		}
		x.gone[n.Node] = true
		must.Do(x.state.snapshot.Set(p.cordoned(slot)))
	}
	for _, wave := range plan.Waves {
		for _, m := range wave {
			id, ok := loadOf[m.Pod]
			if !ok {
				return nil, fmt.Errorf("consolidation: pod %s/%s: Not found: the plan is not of this planner", m.Pod.Namespace, m.Pod.Name)
			}
			x.state.try(id, m.To)
		}
	}
	return x, nil
}

// Nodes returns the nodes that the plan leaves and that cost something, those with the least to move first.
func (x *Removals) Nodes() (out []string) {
	var slots []int
	for i := range x.state.nodes {
		if n := &x.state.nodes[i]; n.object != nil && n.kind == nil && !x.gone[n.object.Name] {
			slots = append(slots, i)
		}
	}
	size := func(i int) (sum float64) {
		for _, id := range x.state.on[i] {
			sum += x.state.loads[id].size
		}
		return sum
	}
	slices.SortStableFunc(slots, func(a, b int) int { return cmp.Compare(size(a), size(b)) })
	for _, i := range slots {
		out = append(out, x.state.nodes[i].object.Name)
	}
	return out
}

// Try removes one node and takes the removal back. why says why no node takes a pod, given a plan over the cluster without the
// node; nil: kube-scheduler's message. The error names a node that the planner does not know. The cost is one decision for each pod, and
// a fork for each pod that no node takes.
func (x *Removals) Try(node string, why func(plan *placement.Plan, c *cluster.Snapshot, pod *v1.Pod) string) (_ *Removal, err error) {
	defer must.Catch(&err)
	i := x.state.base.Slot(node)
	if i < 0 {
		return nil, fmt.Errorf("consolidation: node %q: Not found", node)
	}
	n := &x.state.nodes[i]
	out := &Removal{Node: node, Price: n.price, Held: n.held, Pod: n.by}
	list := slices.Clone(x.state.on[i])
	slices.SortFunc(list, func(a, b int32) int {
		return cmp.Or(cmp.Compare(x.state.loads[b].size, x.state.loads[a].size), cmp.Compare(a, b))
	})
	m := x.state.mark()
	defer x.state.takeBack(m)
	must.Do(x.state.snapshot.Set(x.state.cordoned(i)))
	for _, id := range list {
		t := Trial{Pod: x.state.loads[id].old}
		if x.state.move(id) {
			t.To = x.state.nodes[x.state.at[id]].object.Name
		} else {
			t.Why = x.why(i, id, why)
		}
		out.Trials = append(out.Trials, t)
	}
	return out, nil
}

// why says why no node takes a load when its node and those of the plan are gone.
func (x *Removals) why(i int, id int32, why func(plan *placement.Plan, c *cluster.Snapshot, pod *v1.Pod) string) string {
	s := x.state.snapshot.Fork()
	fresh := prepare(s, &x.state.loads[id])
	left := 0
	for k := range x.state.nodes {
		n := s.Node(k)
		switch {
		case n == nil:
		case k != i && !x.gone[n.Name]:
			left++
		default:
			for pod := range x.state.snapshot.Pods(k) {
				takeOff(s, pod)
			}
			must.Do(s.Remove(n))
		}
	}
	if left == 0 {
		return "no other node is left"
	}
	plan := must.Get(placement.New(s, x.state.real))
	d := plan.Decide(fresh, placement.Options{})
	switch {
	case d.Placed():
		return "a rule of another pod would not hold any more"
	case why == nil:
		return d.Failure.Text()
	}
	return cmp.Or(why(plan, s, fresh), d.Failure.Text())
}
