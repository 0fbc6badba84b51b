package optimal

// clause is a rejection by the filters, learnt from one set: they reject every set in which, of each class of the clause, at
// least so many groups stay.
type clause []atLeast

type atLeast struct{ class, stay int }

// learn adds the clause of the set at hand, which the filters reject although the room is enough. More groups are removed as
// long as the filters still reject the preemptor: the groups that are left are the reason.
func (n *node) learn() {
	w, stay := n.p.WhatIf, make([]int, n.classes)
	for k := range n.groups {
		switch {
		case n.leave[k]:
			continue
		case k != n.pinned:
			n.remove(k)
			if n.s.step(); w.Check(n.p.Slot).Verdict != 0 {
				continue
			}
			n.add(k)
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
	clear(n.seen)
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
