package optimal

import "slices"

// clause is a rejection by the filters, learnt from one set: they reject every set in which, of each class of the clause, at
// least so many groups stay.
type clause []atLeast

type atLeast struct{ class, stay int }

// learn adds the clause of the set at hand, which the trial of the filters rejects although the room is enough. More groups are
// removed as long as the filters still reject the preemptor: the groups that are left are the reason.
func (n *node) learn() {
	w := n.p.WhatIf
	n.note(func(k int) bool {
		n.remove(k)
		if n.s.step(); w.Check(n.p.Slot).Verdict != 0 {
			return true
		}
		n.add(k)
		return false
	})
}

// learnSettled adds the clause of the set at hand, which the trial allows, and which does not give room in a cluster without the
// pods that leave. If no set does, the preemptor may need a pod that the trial does not miss.
func (n *node) learnSettled() {
	leave := slices.Clone(n.leave)
	n.note(func(k int) bool {
		leave[k] = true
		if !n.settles(leave) {
			return true
		}
		leave[k] = false
		return false
	})
	if len(n.clauses[len(n.clauses)-1]) == 0 {
		n.needsOne = true
	}
}

// note adds a clause: of the groups that stay, those are the reason for which without is false. without reports whether the
// preemptor is still rejected without the group, and then the group is out from there on.
func (n *node) note(without func(k int) bool) {
	stay := make([]int, n.classes)
	for k := range n.groups {
		if n.leave[k] || k != n.pinned && without(k) {
			continue
		}
		stay[n.groups[k].class]++
	}
	var c clause
	for class, count := range stay {
		if count > 0 && !(n.pinned >= 0 && n.groups[n.pinned].class == class && count == 1) {
			c = append(c, atLeast{class, count})
		}
	}
	n.clauses = append(n.clauses, c)
	n.forget()
}

// satisfied reports whether the decided groups that leave satisfy every clause, when all undecided groups stay.
func (n *node) satisfied() bool {
	for _, c := range n.clauses {
		ok := false
		for _, t := range c {
			ok = ok || n.stays[t.class]+n.open[t.class] < t.stay
		}
		if !ok {
			return false
		}
	}
	return true
}

// violated reports whether the decided groups that stay violate the clause.
func (n *node) violated(c clause) bool {
	for _, t := range c {
		if n.stays[t.class] < t.stay {
			return false
		}
	}
	return true
}
