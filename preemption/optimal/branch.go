package optimal

import (
	"encoding/binary"
	"slices"

	"github.com/podberth/podberth/preemption"
)

// solve finds the best set of the node that is better than that of every node before, and reports whether the search was
// complete. The set is in n.answer.
func (n *node) solve() bool {
	if n.fits(func(int) bool { return true }) {
		if complete := n.search(); !n.needsOne {
			return complete
		}
	}
	// A pod that leaves may be a pod that the preemptor needs, for its required affinity. One of them stays.
	complete := true
	tried := make([]bool, n.classes)
	for k := range n.groups {
		g := &n.groups[k]
		if tried[g.class] {
			continue
		}
		tried[g.class] = g.twins >= 0 && n.s.o.Cost == nil // the most important pod of a class is the dearest
		if n.pinned = k; n.fits(func(m int) bool { return m != k }) {
			complete = n.search() && complete
		}
	}
	return complete
}

// search searches all sets that keep the pinned group. v1.37's victims are the first set on the first node, and the last set on a
// node whose search was cut.
func (n *node) search() bool {
	n.clauses = nil
	n.forget()
	first := n.s.best == noBound
	if first {
		n.greedy()
		n.fits(func(k int) bool { return k != n.pinned })
	}
	n.bar()
	if !n.force() {
		n.s.proof.Excluded++
		return true
	}
	if n.branch(0, noVictims) {
		return true
	}
	if n.fits(func(k int) bool { return k != n.pinned }) {
		n.greedy()
	}
	return false
}

// fits reports whether the preemptor fits without the groups that leave, in the trial of the filters.
func (n *node) fits(leaves func(k int) bool) bool {
	n.s.step()
	w := n.p.WhatIf
	w.Reset()
	for k := range n.groups {
		if leaves(k) {
			n.remove(k)
		}
	}
	return w.Check(n.p.Slot).Verdict == 0
}

// settler is the optional method of a WhatIf that asks the filters about a cluster without the pods that leave. A trial may allow
// a pod that a decision about the changed cluster rejects.
type settler interface {
	Settles(i int, leave []preemption.Placed) bool
}

// settles reports whether the preemptor fits in a cluster without the groups that leave.
func (n *node) settles(leave []bool) bool {
	w, ok := n.p.WhatIf.(settler)
	if !ok {
		return true
	}
	n.s.step()
	n.gone = n.gone[:0]
	for k := range n.groups {
		if leave[k] {
			n.gone = append(n.gone, n.groups[k].pods...)
		}
	}
	return w.Settles(n.p.Slot, n.gone)
}

// allowed reports whether the preemptor fits without the groups that leave, in the trial and in a cluster without their pods.
func (n *node) allowed(leave []bool) bool {
	return n.fits(func(k int) bool { return leave[k] }) && n.settles(leave)
}

func (n *node) remove(k int) {
	for _, q := range n.groups[k].pods {
		n.p.WhatIf.Remove(q.Pod, q.Slot)
	}
}

func (n *node) add(k int) {
	for _, q := range n.groups[k].pods {
		n.p.WhatIf.Add(q.Pod, q.Slot)
	}
}

// greedy finds the victims of v1.37's rule. All groups but the pinned group are removed when it begins. If the preemptor does not
// fit in a cluster without these victims, the rule is followed again with this question in place of the trial.
func (n *node) greedy() {
	breaks := make([]bool, len(n.groups))
	for k := range n.groups {
		n.match(&n.groups[k])
		breaks[k] = n.draw(k) > 0
	}
	n.undraw()
	out := n.everyone()
	n.reprieve(breaks, out, func(k int) bool {
		n.s.step()
		if n.add(k); n.p.WhatIf.Check(n.p.Slot).Verdict == 0 {
			return true
		}
		n.remove(k)
		return false
	})
	if !n.settles(out) {
		if out = n.everyone(); !n.settles(out) {
			return
		}
		n.reprieve(breaks, out, func(int) bool { return n.allowed(out) })
	}
	n.offer(out)
}

// offer makes a set that the filters accept the answer, if it keeps the quorums and is better than all before.
func (n *node) offer(out []bool) {
	v := noVictims
	for k := range n.groups {
		if out[k] {
			n.evaluate(&n.groups[k]) // a barred group has no values
			v.add(&n.groups[k].values)
			v[Violations] += n.draw(k)
		}
	}
	n.undraw()
	if n.keeps(out) {
		n.take(out, &v)
	}
}

// comeBack lets groups of the answer stay that need not leave, and reports whether there are any. Such a group shows that the search
// was wrong: a pod that left holds up the smallest count of a spread constraint, so that the preemptor fits because the pod stays.
func (n *node) comeBack() bool {
	out := slices.Clone(n.answer)
	n.reprieve(make([]bool, len(out)), out, func(int) bool { return n.allowed(out) })
	if slices.Equal(out, n.answer) {
		return false
	}
	n.offer(out)
	return true
}

// everyone returns a set of all groups but the pinned group.
func (n *node) everyone() []bool {
	out := slices.Repeat([]bool{true}, len(n.groups))
	if n.pinned >= 0 {
		out[n.pinned] = false
	}
	return out
}

// reprieve lets groups of a set come back: first those that break a budget. back reports whether a group that is out of the set
// already may come back.
func (n *node) reprieve(breaks, out []bool, back func(k int) bool) {
	for _, violating := range [...]bool{true, false} {
		for k := range n.groups {
			if breaks[k] == violating && out[k] {
				out[k] = false
				out[k] = !back(k)
			}
		}
	}
}

// draw takes the pods of a group from the budgets and returns how many of them break a budget.
func (n *node) draw(k int) (breaks int64) {
	for m, q := range n.groups[k].pods {
		if n.p.Take(n.groups[k].matches[m], q.Pod.Name) {
			breaks++
		}
	}
	return breaks
}

// alwaysBreak returns how many pods of a group break a budget in every set with the group.
func (n *node) alwaysBreak(k int) (breaks int64) {
	if !slices.ContainsFunc(n.groups[k].matches, several) {
		breaks = n.draw(k)
		n.undraw()
		return breaks
	}
	for m, q := range n.groups[k].pods {
		if n.p.Take(n.groups[k].matches[m], q.Pod.Name) {
			breaks++
		}
		n.undraw()
	}
	return breaks
}

// several reports whether a pod has several budgets: what it draws from the later ones then depends on which pods leave before it.
func several(budgets []int32) bool { return len(budgets) > 1 }

func (n *node) undraw() {
	if n.p.Ledger != nil {
		n.p.Ledger.Undo(0)
	}
}

// take makes a set that the filters accept the answer, if the set is better than all before.
func (n *node) take(leave []bool, v *Values) {
	if v[Victims] == 0 || n.s.o.NeverViolate && v[Violations] > 0 || !n.s.better(v) {
		return
	}
	n.s.take(v)
	n.answer = slices.Clone(leave)
	n.bar()
}

// branch decides about group k and all groups after it. v has the values of the groups that leave. It returns false when the
// search was cut.
func (n *node) branch(k int, v Values) bool {
	if !n.s.step() || n.blind > 0 && n.s.proof.Steps > n.blind {
		return false
	}
	if bound := n.bound(k, &v); !n.s.better(&bound) {
		return true
	}
	if n.room() && n.satisfied() {
		switch fits := n.fits(func(m int) bool { return n.leave[m] }); {
		case fits && n.settles(n.leave):
			n.take(n.leave, &v)
			if !n.replaced(k, &v) {
				return true // more victims are not better
			}
		case n.blind > 0:
		case fits:
			n.learnSettled()
		default:
			n.learn()
		}
	}
	if k == len(n.groups) || n.blind == 0 && n.known(k, &v) {
		return true
	}
	g := &n.groups[k]
	complete := true
	n.open[g.class]--
	if !g.must && (g.twins < 0 || n.forced[g.twins] == 0) {
		n.stays[g.class]++
		complete = n.branch(k+1, v)
		n.stays[g.class]--
	}
	if complete && k != n.pinned && !g.barred {
		complete = n.without(k, v)
	}
	n.open[g.class]++
	return complete
}

// replaced reports whether more victims may be better: the start counts before the priority, and a group from position k on has a pod of a
// higher priority, whose start counts then. Groups without units are in the order of their priorities, so that none has.
func (n *node) replaced(k int, v *Values) bool {
	return !n.s.byPriority && slices.ContainsFunc(n.groups[k:], func(g group) bool { return !g.barred && g.values[HighestPriority] > v[HighestPriority] })
}

// without continues the branch without group k.
func (n *node) without(k int, v Values) bool {
	g := &n.groups[k]
	if !n.quorums.take(g.quorums) {
		n.quorums.give(g.quorums)
		return true
	}
	defer n.quorums.give(g.quorums)
	var mark int
	if n.p.Ledger != nil {
		mark = n.p.Ledger.Mark()
	}
	v.add(&g.values)
	v[Violations] += n.draw(k)
	n.leave[k] = true
	for c := range n.free {
		n.free[c] += g.free[c]
	}
	if g.twins >= 0 {
		n.forced[g.twins]++
	}
	complete := n.branch(k+1, v)
	if g.twins >= 0 {
		n.forced[g.twins]--
	}
	for c := range n.free {
		n.free[c] -= g.free[c]
	}
	n.leave[k] = false
	if n.p.Ledger != nil {
		n.p.Ledger.Undo(mark)
	}
	return complete
}

// room reports whether what the node lacks is free.
func (n *node) room() bool {
	for c, lack := range n.lacks {
		if n.free[c] < lack {
			return false
		}
	}
	return true
}

// seenBounds bounds the memory of the states of one node.
const seenBounds = 1 << 18

// forget drops the states that were reached. A large map is made new, because clearing it takes as long as it is large.
func (n *node) forget() {
	if n.seen == nil || len(n.seen) > 1000 {
		n.seen = map[string]Values{}
	}
	clear(n.seen)
}

// known reports whether the state was reached before with values that are at least as good in every criterion, so that
// nothing better follows. Otherwise it notes the state.
func (n *node) known(k int, v *Values) bool {
	n.text = n.key(n.text[:0], k)
	if old, ok := n.seen[string(n.text)]; ok && n.s.dominates(&old, v) {
		return true
	}
	if len(n.seen) < seenBounds {
		n.seen[string(n.text)] = *v
	}
	return false
}

// dominates reports whether a is at least as good as b, whatever comes to both.
func (s *Search) dominates(a, b *Values) bool {
	for c := range a {
		if a[c] > b[c] && Criterion(c) != Start {
			return false
		}
	}
	return a[HighestPriority] == b[HighestPriority] && a[Start] <= b[Start] || a[HighestPriority] < b[HighestPriority] && s.byPriority
}

// key describes the state of the branch at position k. Two branches of one key can be completed by the same sets, at the same
// cost.
func (n *node) key(dst []byte, k int) []byte {
	dst = binary.AppendUvarint(dst, uint64(k))
	for c, lack := range n.lacks {
		dst = binary.AppendUvarint(dst, uint64(max(0, lack-n.free[c])))
	}
	for k := range n.clauses {
		for _, t := range n.clauses[k] {
			dst = binary.AppendUvarint(dst, uint64(n.stays[t.class]))
		}
	}
	for _, left := range n.forced {
		dst = append(dst, byte(min(left, 1)))
	}
	for m := range k {
		if n.groups[m].counted() {
			dst = append(dst, 0)
			if n.leave[m] {
				dst[len(dst)-1] = 1
			}
		}
	}
	return dst
}
