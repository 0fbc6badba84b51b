package optimal

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomNode returns a node with up to six groups in classes, of which some are barred, and lacks of up to two columns.
func randomNode(r *rand.Rand) *node {
	n := &node{s: &Search{best: noBound, byPriority: r.IntN(2) == 0, order: DefaultOrder()}, rooms: true, classes: 3, pinned: -1}
	n.s.order = append(n.s.order, Cost)
	for range r.IntN(3) {
		n.lacks, n.free = append(n.lacks, int64(1+r.IntN(9))), append(n.free, int64(r.IntN(6)))
	}
	n.stays, n.open = make([]int, n.classes), make([]int, n.classes)
	for range r.IntN(7) {
		g := group{class: r.IntN(n.classes), barred: r.IntN(4) == 0}
		for range n.lacks {
			g.free = append(g.free, int64(r.IntN(5)))
		}
		g.values = Values{HighestPriority: int64(r.IntN(3)), PrioritySum: int64(r.IntN(5)), Victims: int64(1 + r.IntN(2)), Start: int64(r.IntN(4)), Cost: int64(r.IntN(4))}
		n.groups = append(n.groups, g)
	}
	n.sortGroups()
	return n
}

// from returns the groups from position k on that may leave.
func (n *node) from(k int) (list []*group) {
	for m := k; m < len(n.groups); m++ {
		if !n.groups[m].barred {
			list = append(list, &n.groups[m])
		}
	}
	return list
}

// frees returns what the groups free of a column, the most first.
func frees(list []*group, c int) (all []int64) {
	for _, g := range list {
		all = append(all, g.free[c])
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all
}

func total(list []int64) (sum int64) {
	for _, x := range list {
		sum += x
	}
	return sum
}

// plainCount is the number of the first amounts that reach what is wanted, or of all.
func plainCount(all []int64, want int64) int {
	for k := range all {
		if total(all[:k]) >= want {
			return k
		}
	}
	return len(all)
}

// plainSmallest is the sum of so many of the smallest values.
func plainSmallest(list []*group, c Criterion, groups int) int64 {
	var all []int64
	for _, g := range list {
		all = append(all, g.values[c])
	}
	slices.Sort(all)
	return total(all[:min(len(all), groups)])
}

// plainLatest is the last position from which so many groups free what the node lacks of each column, but not before k.
func plainLatest(n *node, k, groups int) int {
	last := len(n.groups)
	for c, lack := range n.lacks {
		if lack <= n.free[c] {
			continue
		}
		at := len(n.groups)
		for at > k {
			all := frees(n.from(at), c)
			if n.free[c]+total(all[:min(len(all), groups)]) >= lack {
				break
			}
			at--
		}
		last = min(last, at)
	}
	return last
}

// plainPriority bounds the highest priority and the start when one of the groups from k to last leaves too.
func plainPriority(n *node, v *Values, k, last int) {
	if last < len(n.groups) {
		least := noBound
		for m := k; m <= last; m++ {
			g := n.groups[m].values
			if !n.groups[m].barred && Compare(g, least, []Criterion{HighestPriority, Start}) < 0 {
				least = g
			}
		}
		switch {
		case least[HighestPriority] > v[HighestPriority]:
			v[HighestPriority], v[Start] = least[HighestPriority], least[Start]
		case least[HighestPriority] == v[HighestPriority]:
			v[Start] = max(v[Start], least[Start])
		}
	}
	if !n.s.byPriority {
		v[Start] = math.MinInt64
	}
}

// Each part of a bound is that of sorted lists.
func TestPartsOfBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 20000 {
		n := randomNode(r)
		k := r.IntN(len(n.groups) + 1)
		groups := r.IntN(4)
		for c := range n.lacks {
			want := int64(r.IntN(12) - 1)
			require.Equal(t, plainCount(frees(n.from(k), c), want), n.count(c, k, want))
			require.Equal(t, total(frees(n.from(k), c)), n.after[k*len(n.lacks)+c])
		}
		for _, c := range []Criterion{PrioritySum, Victims, Cost} {
			require.Equal(t, plainSmallest(n.from(k), c, groups), n.smallest(c, k, groups))
		}
		if groups > 0 {
			require.Equal(t, plainLatest(n, k, groups), n.latest(k, groups))
		}
		v := Values{HighestPriority: int64(r.IntN(4)), Start: int64(r.IntN(5))}
		w, last := v, k+r.IntN(len(n.groups)-k+1)
		n.boundPriority(&v, k, last)
		plainPriority(n, &w, k, last)
		require.Equal(t, w, v)
		n.clauses = nil
		more := 0
		for range r.IntN(4) {
			var c clause
			for range r.IntN(3) {
				c = append(c, atLeast{class: r.IntN(n.classes), stay: 1 + r.IntN(3)})
			}
			n.clauses = append(n.clauses, c)
		}
		for class := range n.classes {
			n.stays[class], n.open[class] = r.IntN(3), r.IntN(3)
		}
		satisfied := true
		for _, c := range n.clauses {
			broken, met := true, false
			for _, x := range c {
				broken = broken && n.stays[x.class] >= x.stay
				met = met || n.stays[x.class]+n.open[x.class] < x.stay
			}
			require.Equal(t, broken, n.violated(c))
			satisfied = satisfied && met
			if len(c) == 1 {
				more = max(more, n.stays[c[0].class]+n.open[c[0].class]-c[0].stay+1)
			}
		}
		require.Equal(t, satisfied, n.satisfied())
		require.Equal(t, more, n.more())
		room := true
		for c := range n.lacks {
			room = room && n.free[c] >= n.lacks[c]
		}
		require.Equal(t, room, n.room())
	}
}

// The bound of a branch is that of its parts: enough groups for each column, the groups that must leave, and the first of the
// groups that can still free enough.
func TestBoundOfABranch(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	bounded, closer := 0, 0
	for range 40000 {
		n := randomNode(r)
		n.rooms = r.IntN(20) > 0
		n.s.o.NeverViolate = r.IntN(3) == 0
		if r.IntN(2) == 0 {
			n.clauses = append(n.clauses, clause{{class: r.IntN(n.classes), stay: 1 + r.IntN(3)}})
			for class := range n.classes {
				n.stays[class], n.open[class] = r.IntN(2), r.IntN(3)
			}
		}
		k := r.IntN(len(n.groups) + 1)
		v := Values{Violations: int64(r.IntN(2)), Foreign: int64(r.IntN(2)), HighestPriority: int64(r.IntN(3)), PrioritySum: int64(r.IntN(4)), Victims: int64(r.IntN(3)), Start: int64(r.IntN(3))}
		forced := noVictims
		if r.IntN(2) == 0 {
			n.forcedBreaks = int64(r.IntN(3))
			for m := range n.groups {
				n.groups[m].must = r.IntN(4) == 0
				n.groups[m].values[Foreign] = int64(r.IntN(2))
			}
			n.sumForced()
			for m := k; m < len(n.groups); m++ {
				if n.groups[m].must {
					forced.add(&n.groups[m].values)
				}
			}
			require.Equal(t, forced, n.forcedFrom[k])
		}
		want := v
		possible := n.rooms && !(n.s.o.NeverViolate && v[Violations] > 0)
		more, last := n.more(), len(n.groups)
		for c, lack := range n.lacks {
			if lack <= n.free[c] {
				continue
			}
			all := frees(n.from(k), c)
			if n.free[c]+total(all) < lack {
				possible = false
				break
			}
			more = max(more, plainCount(all, lack-n.free[c]))
			at := len(n.groups) - 1
			for n.free[c]+total(frees(n.from(at), c)) < lack {
				at--
			}
			last = min(last, at)
		}
		for _, c := range n.clauses {
			possible = possible && !n.violated(c)
		}
		if possible {
			if len(n.forcedFrom) > 0 {
				want[Foreign] += forced[Foreign]
				want[Violations] = max(want[Violations], n.forcedBreaks)
				want.add(&Values{HighestPriority: forced[HighestPriority], Start: forced[Start]})
			}
			for _, c := range []Criterion{PrioritySum, Victims, Cost} {
				want[c] += max(forced[c], plainSmallest(n.from(k), c, more))
			}
			plainPriority(n, &want, k, last)
			n.s.order, n.s.byNumber = []Criterion{PrioritySum, Victims, HighestPriority, Start}, 0
			if r.IntN(2) == 0 {
				n.s.best, n.s.byNumber = want, 3
				n.s.best[Start]++
				if other := r.IntN(6); other < 3 {
					n.s.best[n.s.order[other]] += int64(r.IntN(3) - 1)
				}
				if more > 0 && Compare(want, n.s.best, n.s.order[:3]) == 0 {
					plainPriority(n, &want, k, min(last, plainLatest(n, k, more)))
					closer++
				}
			}
			bounded++
		} else {
			want = noBound
		}
		require.Equal(t, want, n.bound(k, &v))
	}
	require.Greater(t, bounded, 10000)
	require.Greater(t, closer, 2000)
}
