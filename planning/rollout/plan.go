package rollout

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// Plan returns the plan for the options. The error names an option that contradicts the cluster, or is the first error of an
// object that the API server refuses or of a plugin; there is no plan then.
func (p *Planner) Plan(o Options) (plan *Plan, err error) {
	defer must.Catch(&err)
	must.Do(p.check(&o))
	x := p.begin(p.complete(o))
	x.play()
	x.finish()
	x.remedies()
	return &x.plan, nil
}

// begin returns the state before the first step.
func (p *Planner) begin(o Options) *run {
	s := p.base.Fork()
	x := &run{Planner: p, o: o, snapshot: s, onNode: map[string][]*item{}, ofUnit: map[*unit][]*item{}, budgets: newBudgets(s), admitted: map[*unit]*v1.Pod{}}
	x.plan = Plan{Steps: []Step{}, Blocked: []Deadlock{}, Skipped: []Skipped{}, Again: []Journey{}, Waiting: []string{}}
	for _, name := range o.Nodes {
		must.Do(s.Set(aged(s.Node(s.Slot(name)))))
	}
	for _, name := range p.nodes {
		for pod := range s.Pods(s.Slot(name)) {
			x.enlist(x.newItem(pod, name))
		}
	}
	waiting := slices.DeleteFunc(slices.Clone(p.waiting), func(pod *v1.Pod) bool {
		return !p.schedules(pod) || len(pod.Spec.SchedulingGates) > 0
	})
	x.held = placement.NewNominations(s, waiting)
	for _, pod := range waiting {
		it := x.newItem(pod, "")
		x.enlist(it)
		x.pending = append(x.pending, it)
	}
	slices.SortStableFunc(x.pending, func(a, b *item) int {
		return cmp.Or(cmp.Compare(podinfo.Priority(b.obj), podinfo.Priority(a.obj)), a.obj.CreationTimestamp.Compare(b.obj.CreationTimestamp.Time))
	})
	x.placer = must.Get(placement.NewPlacer(s, p.in.Profile))
	return x
}

// play plays all steps.
func (x *run) play() {
	surge := x.surge()
	x.wait()
	nodes := x.order()
	done := 0
	for batch := range slices.Chunk(nodes, x.o.Batch) {
		if x.ends() {
			return
		}
		x.batch(Replace, batch)
		if done += len(batch); x.o.Progress != nil {
			x.o.Progress(done, len(nodes))
		}
	}
	if !x.o.KeepSurge {
		for batch := range slices.Chunk(surge, x.o.Batch) {
			x.batch(Retire, batch)
		}
	}
}

// surge adds the surge nodes with the pods of DaemonSets.
func (x *run) surge() (names []string) {
	if x.o.Surge == 0 {
		return nil
	}
	step := Step{Action: Surge, Begin: x.now, Empty: x.now, Waves: []Wave{}, Budgets: []Room{}, Skews: []Skew{}}
	var nodes []*v1.Node
	for n := range x.o.Surge {
		node := x.surged(n + 1)
		must.Do(x.snapshot.Set(node))
		for _, pod := range x.daemons(node) {
			must.Do(x.snapshot.Assume(pod, x.snapshot.Slot(node.Name)))
			x.enlist(x.newItem(pod, node.Name))
		}
		nodes, names = append(nodes, node), append(names, node.Name)
	}
	step.Nodes = names
	for _, n := range nodes {
		step.End = max(step.End, later(x.now, x.o.renew(n)))
	}
	x.advance(step.End)
	x.plan.Steps = append(x.plan.Steps, step)
	return names
}

// order returns the nodes in the order in which they are replaced.
func (x *run) order() []string {
	nodes := slices.Clone(x.o.Nodes)
	if x.o.Order != FewestPods {
		return nodes
	}
	leaving := map[string]int{}
	for _, name := range nodes {
		pods := make([]*v1.Pod, len(x.onNode[name]))
		for i, it := range x.onNode[name] {
			pods[i] = it.seen
		}
		leaving[name] = len(disruption.Select(name, pods, x.o.Drain, x.clock()).Leaving)
	}
	slices.SortStableFunc(nodes, func(a, b string) int { return cmp.Compare(leaving[a], leaving[b]) })
	return nodes
}

// batch drains the nodes together, or each alone when they cannot be drained together. A node that cannot be drained alone is as
// it was before.
func (x *run) batch(action Action, nodes []string) {
	m := x.mark()
	d := x.drain(action, nodes)
	if d.stuck == nil {
		x.snapshot.Commit(m.snapshot)
		x.settle(d)
		return
	}
	if len(nodes) == 1 {
		x.plan.Blocked = append(x.plan.Blocked, x.deadlocks(d.stuck)...)
		x.back(m)
		return
	}
	x.back(m)
	for _, name := range nodes {
		x.batch(action, []string{name})
	}
}

// settle ends a step: the nodes come back new, or surge nodes leave.
func (x *run) settle(d drain) {
	d.step.End = x.now
	for _, name := range d.step.Nodes {
		n := renewed(x.snapshot.Node(x.snapshot.Slot(name)))
		if d.step.Action == Replace {
			x.plan.Replaced++
			d.step.End = max(d.step.End, later(x.now, x.o.renew(n)))
			must.Do(x.snapshot.Set(n))
			continue
		}
		for _, it := range slices.Clone(x.onNode[name]) {
			x.remove(it)
		}
		must.Do(x.snapshot.Remove(n))
	}
	x.advance(d.step.End)
	x.plan.Steps, x.plan.Skipped = append(x.plan.Steps, d.step), append(x.plan.Skipped, d.skipped...)
	x.wait()
}

// wait tries the pods that wait for a node. Those that find a node make a step without nodes.
func (x *run) wait() {
	w := x.arrive()
	x.advance(w.End)
	if len(w.Placed) > 0 {
		x.plan.Steps = append(x.plan.Steps, Step{Action: Settle, Nodes: []string{}, Begin: w.Begin, Empty: w.Begin, End: w.End, Waves: []Wave{w.Wave}, Budgets: []Room{}, Skews: []Skew{}})
	}
}

// finish counts what the steps came to.
func (x *run) finish() {
	x.plan.Blocked = merge(x.plan.Blocked)
	for _, s := range x.plan.Steps {
		for _, w := range s.Waves {
			x.plan.Evictions += len(w.Moves)
		}
	}
	for _, it := range x.pending {
		x.plan.Waiting = append(x.plan.Waiting, podinfo.Name(it.obj))
	}
	for _, items := range x.onNode {
		for _, it := range items {
			if it.moves > 1 {
				x.plan.Again = append(x.plan.Again, Journey{podinfo.Name(it.origin), it.path})
			}
		}
	}
	slices.SortFunc(x.plan.Again, func(a, b Journey) int {
		return cmp.Or(cmp.Compare(len(b.Nodes), len(a.Nodes)), cmp.Compare(a.Pod, b.Pod))
	})
	x.plan.Total = x.now
}
