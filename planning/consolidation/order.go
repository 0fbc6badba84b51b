package consolidation

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// choice is a set of nodes to empty, and where their pods could go.
type choice struct {
	nodes  []int // slots, ascending
	add    []int // slots of nodes that are added, ascending
	target map[int32]int32
}

// order finds the moves that empty the nodes of a choice, one after the other by all rules. Nodes whose pods find no place or are
// not let go stay.
func (p *Planner) order(c choice) *Plan {
	for {
		r := p.newRun(c)
		stuck := r.all()
		if len(stuck) == 0 {
			r.plan.Domains = p.freed(r.plan)
			return r.plan
		}
		stuck = p.whole(stuck)
		c.nodes = slices.DeleteFunc(slices.Clone(c.nodes), func(i int) bool { return slices.Contains(stuck, i) })
	}
}

// run makes the moves of a plan in a snapshot.
type run struct {
	*Planner
	snapshot  *cluster.Snapshot
	placer    *placement.Placer
	free      *placement.Plan // of the caller's profile: what kube-scheduler chooses
	evictions *disruption.Evictions
	present   []*v1.Pod       // for budgets: every pod of a node
	place     map[*v1.Pod]int // in present, of pods that may move
	where     positions
	choice    choice
	equal     map[string][]int32 // loads that wait and may take each other's places
	left      map[int]int        // loads that a node to empty still has
	clock     int                // moves and removals so far
	removed   int                // clock of the latest removal
	touched   map[int32]int      // clock of the latest move of a group
	failed    [2]map[int32]int   // clock when a load was not let onto its node; when it found no node at all
	elsewhere int                // 1: a load may go to another node than the search chose
	plan      *Plan
}

func (p *Planner) newRun(c choice) *run {
	s, where := p.base.Fork(), p.positions()
	r := &run{
		Planner: p, snapshot: s, placer: must.Get(placement.NewPlacer(s, p.packs(where.memo))), free: must.Get(placement.New(s, p.real)),
		evictions: disruption.NewEvictions(p.pdbs), present: slices.Clone(p.pods), place: map[*v1.Pod]int{}, where: where, choice: c,
		equal: map[string][]int32{}, left: map[int]int{}, touched: map[int32]int{}, failed: [2]map[int32]int{{}, {}}, plan: &Plan{},
	}
	for i := range p.nodes {
		if p.nodes[i].kind == nil {
			r.plan.Before += p.nodes[i].price
		}
	}
	r.plan.After = r.plan.Before
	k := 0
	for i := range p.nodes {
		if p.nodes[i].object != nil { // a node that could be added has no pods
			for pod := range p.base.Pods(i) {
				r.place[pod] = k
				k++
			}
		}
	}
	for _, i := range c.nodes {
		r.left[i] = len(p.nodes[i].loads)
		for _, id := range p.nodes[i].loads {
			if l := &p.loads[id]; l.shape != "" {
				r.equal[l.shape] = append(r.equal[l.shape], id)
			}
		}
		must.Do(s.Set(p.cordoned(i)))
	}
	r.add()
	return r
}

// all makes one wave after the other. A load goes where the search placed it. When no load can, one load goes elsewhere. all returns
// the nodes that cannot be emptied.
func (r *run) all() (stuck []int) {
	var waiting []int32
	for _, i := range r.choice.nodes {
		waiting = append(waiting, r.nodes[i].loads...)
	}
	slices.SortStableFunc(waiting, func(a, b int32) int {
		return cmp.Compare(r.loads[b].size, r.loads[a].size)
	})
	open := r.remove(r.choice.nodes, -1)
	for len(open) > 0 {
		wave, later := r.wave(waiting)
		if len(wave) > 0 {
			r.plan.Waves = append(r.plan.Waves, wave)
		}
		before := len(open)
		open = r.remove(open, len(r.plan.Waves)-1)
		switch {
		case len(wave) > 0 || len(open) < before:
			waiting, r.elsewhere = later, 0
		case r.elsewhere == 0:
			r.elsewhere = 1
		default:
			return open
		}
	}
	return nil
}

// wave makes the moves that can be made at the same time.
func (r *run) wave(waiting []int32) (wave []Move, later []int32) {
	r.evictions.Sync(r.present, r.scale, r.in.Now)
	used := map[int32]bool{}
	var moved []int32
	var fresh []*v1.Pod
	for _, id := range waiting {
		l := &r.loads[id]
		if r.elsewhere > 0 && len(wave) > 0 {
			later = append(later, id)
			continue
		}
		if slices.ContainsFunc(l.groups, func(g int32) bool { return used[g] }) {
			later = append(later, id)
			continue
		}
		observed := r.present[r.place[l.old]]
		if d := r.evictions.Evict(observed, disruption.Request{DryRun: []string{"All"}}, r.in.Now); !d.Allowed() {
			later = append(later, id)
			continue
		}
		if at, failed := r.failed[r.elsewhere][id]; failed && !r.changed(l, at) {
			later = append(later, id)
			continue
		}
		x := r.replace(id)
		if x.pod == nil {
			r.failed[r.elsewhere][id] = r.clock
			later = append(later, id)
			continue
		}
		d := r.evictions.Evict(observed, disruption.Request{}, r.in.Now)
		wave = append(wave, Move{
			Pod: l.old, New: x.pod, From: r.nodes[l.slot].object.Name, To: r.nodes[x.slot].object.Name, Way: x.way, Chosen: x.chosen, Budgets: d.Budgets,
		})
		for _, g := range l.groups {
			used[g] = true
		}
		r.clock++
		for _, g := range l.groups {
			r.touched[g] = r.clock
		}
		r.left[int(l.slot)]--
		r.equal[l.shape] = slices.DeleteFunc(r.equal[l.shape], func(other int32) bool { return other == id })
		moved, fresh = append(moved, id), append(fresh, x.pod)
	}
	r.swap(moved, fresh)
	return wave, later
}

// changed reports whether a pod that found no node at a time may find one now. Nodes that stay only get fuller, so that nothing but
// rules between pods can help.
func (r *run) changed(l *load, at int) bool {
	return slices.ContainsFunc(l.groups, func(g int32) bool {
		return r.touched[g] > at || r.removed > at && int(g) < len(r.kinds) && r.kinds[g].hard != nil
	})
}

// swap brings the budgets up to date after a wave: the old pods are gone, and then the new pods are ready.
func (r *run) swap(moved []int32, fresh []*v1.Pod) {
	for _, id := range moved {
		r.present[r.place[r.loads[id].old]] = nil
	}
	r.evictions.Sync(r.present, r.scale, r.in.Now)
	for k, id := range moved {
		r.present[r.place[r.loads[id].old]] = podinfo.Observed(fresh[k])
	}
}

// replaced is a pod that was moved.
type replaced struct {
	pod    *v1.Pod // nil: it was not
	slot   int32
	way    Way
	chosen bool // by kube-scheduler
	placed bool // the filters allow a node, where a rule of another pod does not hold
}

// replace moves one pod. A new pod that no node takes because of its old pod waits until the old pod is gone.
func (r *run) replace(id int32) replaced {
	x := r.move(id, r.loads[id].way)
	if x.pod == nil && r.loads[id].way == Surge {
		x = r.move(id, InPlace)
	}
	return x
}

// move moves one pod where the search placed it, or an equal pod that waits. A pod without such a place, and every pod when elsewhere
// says so, may go to any node that the filters allow where no rule of another pod breaks.
func (r *run) move(id int32, way Way) replaced {
	name := ""
	if slot, ok := r.choice.target[id]; ok {
		name = r.nodes[slot].object.Name
	}
	x := r.try(id, name, way)
	if x.pod != nil {
		return x
	}
	if name != "" && r.elsewhere == 0 {
		return r.instead(id, way)
	}
	if !x.placed {
		return x
	}
	m := r.snapshot.Mark()
	names := alternatives(r.placer, r.snapshot, r.lift(id, way))
	r.snapshot.Rollback(m)
	for _, name := range names {
		if x = r.try(id, name, way); x.pod != nil {
			return x
		}
	}
	return replaced{}
}

// try moves one pod, to a node if one is named and takes the pod. When no node takes the pod, or a rule of another pod would not
// hold any more, nothing has changed and there is no pod.
func (r *run) try(id int32, node string, way Way) replaced {
	m := r.snapshot.Mark()
	l := &r.loads[id]
	fresh := r.lift(id, way)
	if node != "" && r.elsewhere == 0 && !accepts(r.placer, fresh, r.snapshot.Slot(node)) {
		r.snapshot.Rollback(m)
		return replaced{}
	}
	d := r.placer.Decide(nominated(fresh, node), placement.Options{})
	if !d.Placed() || node != "" && d.Node != node && r.elsewhere == 0 {
		r.snapshot.Rollback(m)
		return replaced{}
	}
	chosen := r.free.Decide(fresh, placement.Options{}).Node == d.Node
	must.Do(r.placer.Assume(fresh, d))
	if way == Surge {
		takeOff(r.snapshot, r.snapshot.Pod(l.old.Namespace, l.old.Name))
	}
	slot := int32(d.Slot)
	r.where.shift(l.kind, l.slot, slot)
	if !r.where.keeps(r.snapshot, l) {
		r.where.shift(l.kind, slot, l.slot)
		r.snapshot.Rollback(m)
		return replaced{placed: true}
	}
	r.snapshot.Commit(m)
	return replaced{pod: fresh, slot: slot, way: way, chosen: chosen}
}

// lift evicts a pod as far as its new pod needs, and returns the new pod.
func (r *run) lift(id int32, way Way) *v1.Pod {
	l := &r.loads[id]
	if way == Surge {
		leaving := *l.old
		now := metav1.NewTime(r.in.Now)
		leaving.DeletionTimestamp = &now
		must.Do(r.snapshot.Set(&leaving))
	} else {
		takeOff(r.snapshot, l.old)
	}
	return prepare(r.snapshot, l)
}

// remove removes the empty nodes among open whose removal breaks no rule, and returns the others.
func (r *run) remove(open []int, wave int) (others []int) {
	var ready []int
	for _, i := range open {
		if r.left[i] > 0 {
			others = append(others, i)
		} else {
			ready = append(ready, i)
		}
	}
	if len(ready) == 0 {
		return others
	}
	all := r.drop(ready)
	for _, i := range ready {
		if !all && !r.drop([]int{i}) {
			others = append(others, i)
			continue
		}
		n := &r.nodes[i]
		r.plan.Nodes = append(r.plan.Nodes, Emptied{Node: n.object.Name, Price: n.price, Wave: wave, Moves: len(n.loads)})
		r.plan.After -= n.price
	}
	slices.Sort(others)
	return others
}

// drop removes nodes with the pods that leave with them. When a rule of another pod or a budget would not hold any more, nothing
// has changed.
func (r *run) drop(nodes []int) bool {
	if !r.removes() {
		return true
	}
	m := r.snapshot.Mark()
	present := slices.Clone(r.present)
	for _, i := range nodes {
		for _, pod := range r.nodes[i].tied {
			takeOff(r.snapshot, pod)
			present[r.place[pod]] = nil
		}
		must.Do(r.snapshot.Remove(r.snapshot.Node(i)))
	}
	for id := range r.kinds {
		if !r.where.hold(r.snapshot, int32(id)) {
			r.snapshot.Rollback(m)
			return false
		}
	}
	if !r.keepsBudgets(nodes, present) {
		r.snapshot.Rollback(m)
		return false
	}
	r.snapshot.Commit(m)
	r.present = present
	r.clock++
	r.removed = r.clock
	return true
}

// keepsBudgets reports whether the pods that leave with some nodes leave each budget what it asks for.
func (r *run) keepsBudgets(nodes []int, present []*v1.Pod) bool {
	covered := false
	for _, i := range nodes {
		for _, pod := range r.nodes[i].tied {
			covered = covered || len(r.budgets.AppendMatches(nil, pod.Namespace, pod.Labels)) > 0
		}
	}
	if !covered {
		return true
	}
	before := r.evictions.Sync(r.present, r.scale, r.in.Now)
	for k, after := range r.evictions.Sync(present, r.scale, r.in.Now) {
		now, was := after.Status, before[k].Status
		if now.CurrentHealthy < was.CurrentHealthy && now.CurrentHealthy < now.DesiredHealthy {
			return false
		}
	}
	return true
}
