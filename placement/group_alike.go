package placement

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/reuse"
	"github.com/podberth/podberth/podgroup"
)

// alike remembers what became of the members of one group in the placements that were tried. In a placement whose nodes are equal, in
// their order, the same members take the same places, so that nobody has to be tried there. Equal are nodes with equal rows about which
// the plugins say the same, and members whose answers follow from nothing else (reuse.Locals).
//
// Of placements that are alike the first is taken if any is. So the nodes of the others are not needed.
//
// Of members of one kind it is counted how many find room, and so none is tried but in the placement that is taken, or that tells why there is none. Of
// members of several kinds it is often clear that all find room, or that too few do.
// How good a placement was is kept for later groups with the same members: then only those that changed since are counted, or tried.
type alike struct {
	r        *groupRun
	locals   reuse.Locals
	topology *topology    // whose placements are tried; nil: others are
	question *groupsAsked // what is kept of the topology for these members
	key      []byte       // of the placement that is tried
	trials   map[string]alikeTrial
	kept     []keptTrial // by placement, of this decision and of earlier ones; nil: none are kept
	counts   *counts     // nil: the members are not of one kind, or are tried
	bounds   *bounds     // nil: the members are not of several kinds, or are tried
}

// alikeTrial is a trial, and where the search after it begins.
type alikeTrial struct {
	t    *groupTrial
	next int
}

// keptTrial is what is kept of a trial.
type keptTrial struct {
	rows int32 // of the placement
	next int   // where the search after it begins
	t    *groupTrial
}

// manyKinds is how many kinds of members a group may have: each makes the keys longer.
const manyKinds = 8

// alike returns an empty memory for a group and its placements; nil when each placement must be tried: there is one, the caller chooses
// among equal nodes or placements, a plugin scores placements by more than their rows, or members have answers of more than the rows of
// the nodes.
func (r *groupRun) alike(n *podgroup.Node, placements []podgroup.Placement) *alike {
	if len(placements) < 2 || n.Composite != nil || r.o.Tie != nil || r.p.engine == nil {
		return nil
	}
	for _, w := range r.p.profile.Scores {
		if w.PlacementScore != nil && w.Keep != KeepByNodeAndPods {
			return nil
		}
	}
	a := &alike{r: r, trials: map[string]alikeTrial{}}
	members := binary.AppendUvarint(nil, uint64(n.Needs()))
	members = binary.AppendUvarint(members, uint64(r.p.cluster.Schema().Len()))
	members = strconv.AppendBool(members, r.o.Scored)
	var kinds []int
	for _, pod := range r.queued[n] {
		kind, ok := a.locals.Add(r.p.engine, r.p.inOrder(), pod)
		if !ok || pod.Status.NominatedNodeName != "" || a.locals.Kinds() > manyKinds {
			return nil
		}
		members, kinds = binary.AppendUvarint(members, uint64(kind)), append(kinds, kind)
	}
	nodes := r.p.nodesOfGroups()
	if x := nodes.topologies[n.Key()]; x != nil && len(x.placements) == len(placements) && &x.placements[0] == &placements[0] {
		x.begin()
		a.topology, a.question = x, x.ask(a.locals, string(a.locals.AppendKeys(members)))
		a.kept = a.question.kept
	}
	switch {
	case !a.countable():
	case a.locals.Kinds() == 1:
		a.counts = r.counts(n, placements[0].Slots[0])
	case a.locals.Kinds() > 1:
		a.bounds = r.bounds(n, kinds, placements[0].Slots[0])
	}
	return a
}

// countable reports whether all kinds of members are.
func (a *alike) countable() bool {
	for kind := range a.locals.Kinds() {
		if !a.locals.Countable(kind) {
			return false
		}
	}
	return true
}

// recall returns the trial of a placement that is like this one, the one at a place of the list, or what is kept or counted of the trial of this one;
// nil when it must be tried. The run goes on as after that trial. again is true for a placement that is like one before.
func (a *alike) recall(at int, in podgroup.Placement) (t *groupTrial, again bool) {
	if a == nil || !a.describe(at, in) {
		return nil, false
	}
	if a.kept != nil {
		if k := &a.kept[at]; k.t != nil && k.t.from == a.r.next && k.rows == a.topology.rows[at] && !(k.t.sum.vague && a.r.o.Begin != nil) {
			a.r.next = k.next
			return k.t, false
		}
	}
	from := a.r.next
	if x, known := a.trials[string(a.key)]; known {
		a.r.next = x.next
		a.note(at, from, in, x.t)
		return x.t, true
	}
	if t = a.count(in); t == nil {
		t = a.bound(in)
	}
	if t != nil {
		a.keep(at, from, t)
	}
	return t, false
}

// keep remembers the trial of the placement of the key, which began at a place.
func (a *alike) keep(at, from int, t *groupTrial) {
	if a == nil || len(a.key) == 0 {
		return
	}
	a.trials[string(a.key)] = alikeTrial{t, a.r.next}
	a.note(at, from, t.in, t)
}

// note keeps the trial of a placement, or of one that is like it, for later decisions.
func (a *alike) note(at, from int, in podgroup.Placement, t *groupTrial) {
	if a.kept == nil || t.status.code == filter.Error {
		return
	}
	a.kept[at] = keptTrial{rows: a.topology.rows[at], next: a.r.next, t: outline(t.status.code, in, from, a.r.sumOf(t))}
}

// outline returns what is kept of a trial.
func outline(code filter.Code, in podgroup.Placement, from int, sum *trialSum) *groupTrial {
	return &groupTrial{status: &groupStatus{code: code}, in: in, sum: sum, kept: true, from: from}
}

// describe writes the key of a placement: where the search begins, and of each node what the plugins say and the rows. It reports false, and leaves
// no key, when a pod is nominated to one of the nodes.
func (a *alike) describe(at int, in podgroup.Placement) bool {
	nodes := a.r.p.nodesOfGroups()
	nodes.follow()
	key := binary.AppendUvarint(binary.AppendUvarint(a.key[:0], nodes.times), uint64(a.r.next))
	a.key = key[:0]
	if nominated := a.r.o.Nominated; nominated != nil && slices.ContainsFunc(in.Slots, func(i int) bool { return len(nominated(i)) > 0 }) {
		return false
	}
	x := a.topology
	if x != nil && nodes.topologies[x.key] != x { // its numbers are not kept any more
		a.topology, a.question, a.kept, x = nil, nil, nil, nil
		clear(a.trials)
	}
	if x != nil {
		a.key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(a.question.says[at])), uint64(x.rowsOf(at, nodes.row)))
		return true
	}
	for _, i := range in.Slots {
		key = binary.AppendUvarint(a.locals.Append(key, i), uint64(nodes.row[i]))
	}
	a.key = key
	return true
}
