package consolidation

import (
	"cmp"
	"math/rand/v2"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// state is a cluster in which some nodes are empty. It says which set of nodes could be emptied; the order of the moves is found
// later, so that it takes pods off their nodes at once and asks no budget.
type state struct {
	*Planner
	snapshot *cluster.Snapshot
	placer   *placement.Placer
	at       []int32    // by load: its slot, or nowhere
	pod      []*v1.Pod  // by load: its object in the snapshot
	on       [][]int32  // by slot: loads there
	empty    []bool     // by slot
	cost     int64      // of the nodes that are not empty
	moves    int        // loads whose own node is empty
	log      []change   // since the first mark that is open
	shuffle  *rand.Rand // nil: large pods are placed first, as for the first set of nodes
	where    positions
}

// change is what take-back needs.
type change struct {
	slot int32
	node bool    // the node became empty, or is not empty any more
	load int32   // otherwise: it was on the slot
	pod  *v1.Pod // of the load
}

func (p *Planner) newState() *state {
	s, where := p.base.Fork(), p.positions()
	x := &state{
		Planner: p, snapshot: s, placer: must.Get(placement.NewPlacer(s, p.packs(where.memo))), at: make([]int32, len(p.loads)),
		pod: make([]*v1.Pod, len(p.loads)), on: make([][]int32, len(p.nodes)), empty: make([]bool, len(p.nodes)), where: where,
	}
	for i := range p.loads {
		x.at[i], x.pod[i] = p.loads[i].slot, p.loads[i].old
	}
	for i := range p.nodes {
		x.on[i] = slices.Clone(p.nodes[i].loads)
		if p.nodes[i].kind != nil {
			x.empty[i] = true
			continue
		}
		x.cost += p.nodes[i].price
	}
	return x
}

// mark begins a change that takeBack ends.
type mark struct {
	snapshot cluster.Mark
	log      int
}

func (x *state) mark() mark { return mark{x.snapshot.Mark(), len(x.log)} }

// keep ends a mark and keeps the changes.
func (x *state) keep(m mark) { x.snapshot.Commit(m.snapshot) }

// takeBack undoes everything since a mark.
func (x *state) takeBack(m mark) {
	x.snapshot.Rollback(m.snapshot)
	for k := len(x.log) - 1; k >= m.log; k-- {
		c := x.log[k]
		if c.node {
			x.flip(int(c.slot))
		} else {
			x.shift(c.load, c.slot, c.pod)
		}
	}
	x.log = x.log[:m.log]
}

// flip notes that a node became empty, or is not empty any more.
func (x *state) flip(i int) {
	n := &x.nodes[i]
	x.empty[i] = !x.empty[i]
	if x.empty[i] {
		x.cost, x.moves = x.cost-n.price, x.moves+len(n.loads)
	} else {
		x.cost, x.moves = x.cost+n.price, x.moves-len(n.loads)
	}
}

// nowhere is the slot of a load that is on no node.
const nowhere = -1

// shift notes where a load is.
func (x *state) shift(id, slot int32, pod *v1.Pod) {
	from := x.at[id]
	x.where.shift(x.loads[id].kind, from, slot)
	if from != nowhere {
		k := slices.Index(x.on[from], id)
		x.on[from] = slices.Delete(x.on[from], k, k+1)
	}
	if slot != nowhere {
		x.on[slot] = append(x.on[slot], id)
	}
	x.at[id], x.pod[id] = slot, pod
}

// clear tries to empty a node. When a pod finds no other node, nothing has changed.
func (x *state) clear(i int) bool {
	return x.attempt(i, func() bool {
		list := x.loadsOn(i)
		slices.SortFunc(list, func(a, b int32) int {
			return cmp.Or(cmp.Compare(x.loads[b].size, x.loads[a].size), cmp.Compare(a, b))
		})
		if x.shuffle != nil && x.shuffle.IntN(2) == 0 {
			x.shuffle.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		}
		return !slices.ContainsFunc(list, func(id int32) bool { return !x.move(id) })
	})
}

// attempt cordons a node, and those that are freed with it. The node is empty when a function says that it moved all loads away; otherwise nothing has changed.
func (x *state) attempt(i int, moved func() bool) bool {
	m := x.mark()
	for _, k := range x.span(i) {
		must.Do(x.snapshot.Set(x.cordoned(k)))
	}
	if !moved() {
		x.takeBack(m)
		return false
	}
	if x.nodes[i].kind != nil {
		x.withdraw(x.snapshot, i)
	}
	for _, k := range x.span(i) {
		x.log = append(x.log, change{slot: int32(k), node: true})
		x.flip(k)
	}
	x.keep(m)
	return true
}

// move takes a load off its node and places it where the filters allow and no rule of another pod breaks.
func (x *state) move(id int32) bool {
	placed, ok := x.try(id, "")
	if ok || !placed {
		return ok
	}
	m := x.mark()
	names := alternatives(x.placer, x.snapshot, x.lift(id))
	x.takeBack(m)
	return slices.ContainsFunc(names, func(name string) bool {
		_, ok := x.try(id, name)
		return ok
	})
}

// try moves a load, to a node if one is named and takes the pod. When no node takes the pod, or a rule of another pod would not hold
// any more, nothing has changed. The mark of a change ends with that of attempt.
func (x *state) try(id int32, node string) (placed, ok bool) {
	m := x.mark()
	old := x.pod[id]
	fresh := x.lift(id)
	if node == "" || accepts(x.placer, fresh, x.snapshot.Slot(node)) {
		d := x.placer.Decide(nominated(fresh, node), placement.Options{})
		if placed = d.Placed(); placed {
			must.Do(x.placer.Assume(fresh, d))
			x.log = append(x.log, change{slot: x.at[id], load: id, pod: old})
			x.shift(id, int32(d.Slot), fresh)
			ok = x.where.keeps(x.snapshot, &x.loads[id])
		}
	}
	if !ok {
		x.takeBack(m)
	}
	return placed, ok
}

// lift takes a load off its node, if it is on one, and returns the pod that its controller makes.
func (x *state) lift(id int32) *v1.Pod {
	if x.at[id] != nowhere {
		takeOff(x.snapshot, x.pod[id])
	}
	return prepare(x.snapshot, &x.loads[id])
}

// raise takes a load off its node. The load is on no node until try places it.
func (x *state) raise(id int32) {
	was := x.pod[id]
	takeOff(x.snapshot, was)
	x.log = append(x.log, change{slot: x.at[id], load: id, pod: was})
	x.shift(id, nowhere, nil)
}

// takeOff takes a pod off its node.
func takeOff(s *cluster.Snapshot, pod *v1.Pod) {
	must.Do(s.Remove(pod))
	decider.ReleaseClaims(s, pod)
}

// prepare returns the new pod of a load, with the claims that are made for it in the snapshot.
func prepare(s *cluster.Snapshot, l *load) *v1.Pod {
	fresh := l.fresh
	for _, claim := range podinfo.EphemeralClaims(&fresh) {
		must.Do(s.Set(claim))
	}
	decider.MakeClaims(s, &fresh, "again")
	return &fresh
}

// reopen takes an empty node back, and those that were freed with it: their own pods return to them from where they are. The nodes must not have pods with claims of
// their own.
func (x *state) reopen(i int) {
	for _, k := range x.span(i) {
		x.reopenNode(k)
	}
}

func (x *state) reopenNode(i int) {
	n := &x.nodes[i]
	x.offerNode(x.snapshot, i)
	x.log = append(x.log, change{slot: int32(i), node: true})
	x.flip(i)
	for _, id := range n.loads {
		was := x.pod[id]
		takeOff(x.snapshot, was)
		must.Do(x.snapshot.Assume(x.loads[id].old, i))
		x.log = append(x.log, change{slot: x.at[id], load: id, pod: was})
		x.shift(id, int32(i), x.loads[id].old)
	}
}

// reopens reports whether reopen may take a node back.
func (x *state) reopens(i int) bool {
	return x.empty[i] && !slices.ContainsFunc(x.span(i), func(k int) bool {
		return slices.ContainsFunc(x.nodes[k].loads, func(id int32) bool { return x.loads[id].claims })
	})
}
