package rollout

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// Plan returns the plan for the options. The error names an option that contradicts the cluster, or is the first error of an
// object that the API server refuses or of a plugin; there is no plan then.
func (p *Planner) Plan(o Options) (*Plan, error) {
	if err := p.check(&o); err != nil {
		return nil, err
	}
	o = p.complete(o)
	x, err := p.begin(o)
	if err != nil {
		return nil, err
	}
	if err := x.play(); err != nil {
		return nil, err
	}
	x.finish()
	if err := x.remedies(); err != nil {
		return nil, err
	}
	return &x.plan, nil
}

// begin returns the state before the first step.
func (p *Planner) begin(o Options) (*run, error) {
	s := p.base.Fork()
	x := &run{Planner: p, o: o, snapshot: s, onNode: map[string][]*item{}, ofUnit: map[*unit][]*item{}, budgets: newBudgets(s), admitted: map[*unit]*v1.Pod{}}
	x.plan = Plan{Steps: []Step{}, Blocked: []Deadlock{}, Skipped: []Skipped{}, Again: []Journey{}, Waiting: []string{}}
	for _, name := range o.Nodes {
		if err := s.Set(aged(s.Node(s.Slot(name)))); err != nil {
			return nil, err
		}
	}
	for _, name := range p.nodes {
		for pod := range s.Pods(s.Slot(name)) {
			x.enlist(x.newItem(pod, name))
		}
	}
	for _, pod := range p.in.Pending {
		if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || cluster.Finished(pod) || !p.schedules(pod) || len(pod.Spec.SchedulingGates) > 0 {
			continue
		}
		it := x.newItem(pod, "")
		x.enlist(it)
		x.pending = append(x.pending, it)
	}
	slices.SortStableFunc(x.pending, func(a, b *item) int {
		return cmp.Or(cmp.Compare(podinfo.Priority(b.obj), podinfo.Priority(a.obj)), a.obj.CreationTimestamp.Compare(b.obj.CreationTimestamp.Time))
	})
	var err error
	x.placer, err = placement.NewPlacer(s, p.in.Profile)
	return x, err
}

// play plays all steps.
func (x *run) play() error {
	surge, err := x.surge()
	if err != nil {
		return err
	}
	if err := x.wait(); err != nil {
		return err
	}
	nodes := x.order()
	done := 0
	for batch := range slices.Chunk(nodes, x.o.Batch) {
		if err := x.batch(Replace, batch); err != nil {
			return err
		}
		if done += len(batch); x.o.Progress != nil {
			x.o.Progress(done, len(nodes))
		}
	}
	if !x.o.KeepSurge {
		for batch := range slices.Chunk(surge, x.o.Batch) {
			if err := x.batch(Retire, batch); err != nil {
				return err
			}
		}
	}
	return nil
}

// surge adds the surge nodes with the pods of DaemonSets.
func (x *run) surge() (names []string, err error) {
	if x.o.Surge == 0 {
		return nil, nil
	}
	step := Step{Action: Surge, Begin: x.now, Empty: x.now, Waves: []Wave{}, Budgets: []Room{}, Skews: []Skew{}}
	var nodes []*v1.Node
	for n := range x.o.Surge {
		node := x.surged(n + 1)
		if err := x.snapshot.Set(node); err != nil {
			return nil, err
		}
		pods, err := x.daemons(node)
		if err != nil {
			return nil, err
		}
		for _, pod := range pods {
			if err := x.snapshot.Assume(pod, x.snapshot.Slot(node.Name)); err != nil {
				return nil, err
			}
			x.enlist(x.newItem(pod, node.Name))
		}
		nodes, names = append(nodes, node), append(names, node.Name)
	}
	step.Nodes = names
	for _, n := range nodes {
		step.End = max(step.End, x.now+x.o.renew(n))
	}
	x.advance(step.End)
	x.plan.Steps = append(x.plan.Steps, step)
	return names, nil
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
func (x *run) batch(action Action, nodes []string) error {
	m := x.mark()
	d, err := x.drain(action, nodes)
	if err != nil {
		return err
	}
	if d.stuck == nil {
		x.snapshot.Release(m.snapshot)
		return x.settle(d)
	}
	if len(nodes) == 1 {
		found, err := x.deadlocks(d.stuck)
		if err != nil {
			return err
		}
		x.back(m)
		x.plan.Blocked = append(x.plan.Blocked, found...)
		return nil
	}
	x.back(m)
	for _, name := range nodes {
		if err := x.batch(action, []string{name}); err != nil {
			return err
		}
	}
	return nil
}

// settle ends a step: the nodes come back new, or surge nodes leave.
func (x *run) settle(d drain) error {
	d.step.End = x.now
	for _, name := range d.step.Nodes {
		n := renewed(x.snapshot.Node(x.snapshot.Slot(name)))
		if d.step.Action == Replace {
			x.plan.Replaced++
			d.step.End = max(d.step.End, x.now+x.o.renew(n))
			if err := x.snapshot.Set(n); err != nil {
				return err
			}
			continue
		}
		for _, it := range slices.Clone(x.onNode[name]) {
			if err := x.remove(it); err != nil {
				return err
			}
		}
		if err := x.snapshot.Unset(n); err != nil {
			return err
		}
	}
	x.advance(d.step.End)
	x.plan.Steps, x.plan.Skipped = append(x.plan.Steps, d.step), append(x.plan.Skipped, d.skipped...)
	return x.wait()
}

// wait tries the pods that wait for a node. Those that find a node make a step without nodes.
func (x *run) wait() error {
	w, _, _, err := x.wave(nil)
	if len(w.Placed) > 0 {
		x.plan.Steps = append(x.plan.Steps, Step{Action: Settle, Nodes: []string{}, Begin: w.Begin, Empty: w.Begin, End: w.End, Waves: []Wave{w}, Budgets: []Room{}, Skews: []Skew{}})
	}
	return err
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
