package optimal

import (
	"math"
	"slices"

	"github.com/podberth/podberth/preemption"
)

// force finds the groups that are in every set, because the preemptor does not fit with the group even if all other groups leave.
// It returns false if these groups alone are not better than the best set so far. Groups of other nodes come first: they are
// there because they may be in the way. All groups but the pinned group are removed when it begins, and when it ends.
func (n *node) force() bool {
	n.unforce()
	for _, foreign := range [...]bool{true, false} {
		found := false
		for k := range n.groups {
			g := &n.groups[k]
			if k == n.pinned || g.values[Foreign] > 0 != foreign && !g.barred {
				continue
			}
			if g.barred && !foreign {
				continue // asked already
			}
			n.s.step()
			n.add(k)
			g.must = n.p.WhatIf.Check(n.p.Slot).Verdict != 0
			n.remove(k)
			if g.must && g.barred {
				return false
			}
			found = found || g.must
		}
		if found && !n.betterForced() {
			return false
		}
	}
	n.sumForced()
	return true
}

// unforce forgets the groups that are in every set.
func (n *node) unforce() {
	n.forcedFrom, n.forcedBreaks = n.forcedFrom[:0], 0
	for k := range n.groups {
		n.groups[k].must = false
	}
}

// across reports whether pods of other nodes may leave.
func (n *node) across() bool {
	return slices.ContainsFunc(n.groups, func(g group) bool {
		return slices.ContainsFunc(g.pods, func(q preemption.Placed) bool { return q.Slot != n.p.Slot })
	})
}

// sumForced adds up the groups that must leave, from each position on.
func (n *node) sumForced() {
	n.forcedFrom = slices.Grow(n.forcedFrom[:0], len(n.groups)+1)[:len(n.groups)+1]
	n.forcedFrom[len(n.groups)] = noVictims
	for k := len(n.groups) - 1; k >= 0; k-- {
		if n.forcedFrom[k] = n.forcedFrom[k+1]; n.groups[k].must {
			n.forcedFrom[k].add(&n.groups[k].values)
		}
	}
}

// betterForced reports whether a set with all groups that must leave may be better than the best set so far.
func (n *node) betterForced() bool {
	v, single := noVictims, true
	var alone int64
	for k := range n.groups {
		if g := &n.groups[k]; g.must {
			n.match(g)
			v.add(&g.values)
			single = single && !slices.ContainsFunc(g.matches, several)
			alone += n.alwaysBreak(k)
		}
	}
	if v[Violations] = alone; single { // the groups together may break more
		v[Violations] = 0
		for k := range n.groups {
			if n.groups[k].must {
				v[Violations] += n.draw(k)
			}
		}
		n.undraw()
	}
	n.forcedBreaks = v[Violations]
	if !n.s.byPriority {
		v[Start] = math.MinInt64 // a victim of a higher priority replaces the start
	}
	return n.s.better(&v) && !(n.s.o.NeverViolate && v[Violations] > 0)
}
