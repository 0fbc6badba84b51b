package optimal

import (
	"math"
	"slices"

	"github.com/podberth/podberth/resources"
)

// bound returns values that no set is better than, if the groups before position k are decided as in the branch at hand. v has
// the values of the groups that leave. Each value is bounded on its own. The bound is noBound if there is no set.
func (n *node) bound(k int, v *Values) Values {
	if !n.rooms || n.s.o.NeverViolate && v[Violations] > 0 {
		return noBound
	}
	more, last := n.more(), len(n.groups)
	for c, lack := range n.lacks {
		lack -= n.free[c]
		if n.after[k*len(n.lacks)+c] < lack {
			return noBound
		}
		more = max(more, n.count(c, k, lack))
		for n.after[last*len(n.lacks)+c] < lack {
			last--
		}
	}
	for _, c := range n.clauses {
		if n.violated(c) {
			return noBound
		}
	}
	out, forced := *v, noVictims
	if len(n.forcedFrom) > 0 {
		forced = n.forcedFrom[k]
		out.add(&Values{Foreign: forced[Foreign], HighestPriority: forced[HighestPriority], Start: forced[Start]})
		out[Violations] = max(out[Violations], n.forcedBreaks)
	}
	for _, c := range [...]Criterion{PrioritySum, Victims, Cost} {
		out[c] += max(forced[c], n.smallest(c, k, more))
	}
	n.boundPriority(&out, k, last)
	if n.s.byNumber > 0 && Compare(out, n.s.best, n.s.order[:n.s.byNumber]) == 0 {
		// Sets of more groups are worse. Of sets of so many groups the start is bounded better.
		n.boundPriority(&out, k, min(last, n.latest(k, more)))
	}
	return out
}

// latest returns the last position from which so many groups can free what the node lacks.
func (n *node) latest(k, groups int) int {
	last := len(n.groups)
	for c, lack := range n.lacks {
		lack -= n.free[c]
		top, sum := n.s.top[:0], int64(0) // the largest amounts of the groups from a position on, the smallest of them first
		m := len(n.groups)
		for sum < lack && m > k {
			if m--; n.groups[m].barred {
				continue
			}
			free := n.groups[m].free[c]
			if len(top) == groups { // if free is less than the smallest, the next that is larger replaces it again
				sum -= top[0]
				top = append(top[:0], top[1:]...)
			}
			at, _ := slices.BinarySearch(top, free)
			sum, top = resources.Add(sum, free), slices.Insert(top, at, free)
		}
		last, n.s.top = min(last, m), top
	}
	return last
}

// count returns how many of the groups from position k on must leave to free an amount of a tight column.
func (n *node) count(c, k int, amount int64) (groups int) {
	for _, m := range n.byFree[c] {
		if amount <= 0 {
			break
		}
		if int(m) >= k {
			amount -= n.groups[m].free[c]
			groups++
		}
	}
	return groups
}

// more returns how many of the groups from position k on must leave because of one clause.
func (n *node) more() (groups int) {
	for _, c := range n.clauses {
		if len(c) == 1 {
			groups = max(groups, n.stays[c[0].class]+n.open[c[0].class]-c[0].stay+1)
		}
	}
	return groups
}

// smallest returns the smallest sum of a criterion over so many groups from position k on.
func (n *node) smallest(c Criterion, k, groups int) (sum int64) {
	for _, m := range n.byValue[c] {
		if groups == 0 {
			break
		}
		if int(m) >= k {
			sum += n.groups[m].values[c]
			groups--
		}
	}
	return sum
}

// boundPriority bounds the highest priority and the start. One of the groups from position k to last must leave; there is no
// such group if last is the number of groups.
func (n *node) boundPriority(v *Values, k, last int) {
	priority, start := v[HighestPriority], v[Start]
	if last < len(n.groups) {
		low, early := int64(math.MaxInt64), int64(math.MaxInt64)
		for m := k; m <= last; m++ {
			switch g := &n.groups[m]; {
			case g.barred:
			case g.values[HighestPriority] < low:
				low, early = g.values[HighestPriority], g.values[Start]
			case g.values[HighestPriority] == low:
				early = min(early, g.values[Start])
			}
		}
		switch {
		case low > priority:
			priority, start = low, early
		case low == priority:
			start = max(start, early)
		}
	}
	if !n.s.byPriority {
		start = math.MinInt64 // a victim of a higher priority replaces the start
	}
	v[HighestPriority], v[Start] = priority, start
}
