package placement

import (
	"encoding/binary"
	"slices"

	"github.com/podberth/podberth/placement/internal/reuse"
	"github.com/podberth/podberth/podgroup"
)

// alike remembers what became of the members of one group in the placements that were tried. In a placement whose nodes are equal, in
// their order, the same members take the same places, so that nobody has to be tried there. Equal are nodes with equal rows about which
// the plugins say the same, and members whose answers follow from nothing else (reuse.Locals).
//
// Of placements that are alike the first is taken if any is. So the nodes of the others are not needed.
type alike struct {
	r        *groupRun
	locals   reuse.Locals
	topology *topology // whose placements are tried; nil: others are
	key      []byte    // of the placement that is tried
	trials   map[string]alikeTrial
}

// alikeTrial is a trial, and what it left in the run.
type alikeTrial struct {
	t       *groupTrial
	next    int
	reached []GroupMember
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
	for _, m := range r.untried(n, nil).members {
		if m.pod.Status.NominatedNodeName != "" || !a.locals.Add(r.p.engine, m.pod) || a.locals.Kinds() > manyKinds {
			return nil
		}
	}
	if x := r.p.nodesOfGroups().topologies[n.Key()]; x != nil && len(x.placements) == len(placements) && &x.placements[0] == &placements[0] {
		a.topology = x
		x.begin()
		x.learn(&a.locals)
	}
	r.reached = slices.Grow(r.reached, len(placements))
	return a
}

// recall returns the trial of an earlier placement that is like this one, the one at a place of the list; nil when there is none. The run
// goes on as after that trial.
func (a *alike) recall(at int, in podgroup.Placement) *groupTrial {
	if a == nil || !a.describe(at, in) {
		return nil
	}
	x, known := a.trials[string(a.key)]
	if !known {
		return nil
	}
	a.r.next, a.r.reached = x.next, append(a.r.reached, x.reached)
	return x.t
}

// keep remembers the trial of the placement that recall did not find.
func (a *alike) keep(t *groupTrial) {
	if a != nil && len(a.key) > 0 {
		a.trials[string(a.key)] = alikeTrial{t, a.r.next, slices.Clip(a.r.reached[len(a.r.reached)-1])}
	}
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
		a.topology, x = nil, nil
		clear(a.trials)
	}
	if x != nil {
		a.key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(x.says[at])), uint64(x.rowsOf(at, nodes.row)))
		return true
	}
	for _, i := range in.Slots {
		key = binary.AppendUvarint(a.locals.Append(key, i), uint64(nodes.row[i]))
	}
	a.key = key
	return true
}
