package optimal

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/preemption"
)

// randomOrder returns some of the criteria in random order.
func randomOrder(r *rand.Rand) (order []Criterion) {
	for _, c := range r.Perm(criteria)[:1+r.IntN(criteria)] {
		order = append(order, Criterion(c))
	}
	return order
}

func free(preemption.Placed) int64 { return 0 }

// The last criterion has a name and may be in an order; the number after it has none, is refused and does not count.
func TestLastCriterion(t *testing.T) {
	require.Equal(t, "cost", Cost.String())
	require.Equal(t, "criterion 7", Criterion(criteria).String())
	require.NoError(t, validate([]Criterion{Cost}))
	require.EqualError(t, validate([]Criterion{Criterion(criteria)}), "order[0]: unknown criterion 7: the largest is 6")
	require.Equal(t, -1, Compare(Values{Cost: 1}, Values{Cost: 2}, []Criterion{Criterion(criteria), Cost}))
	require.Equal(t, 0, Compare(Values{Cost: 1}, Values{Cost: 2}, []Criterion{Criterion(criteria)}))
}

// The start counts between sets of one highest priority unless it comes first in the order. The number of the victims bounds the
// start better if sets of more victims are worse before the start counts.
func TestWhatPrecedesTheStart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		order := randomOrder(r)
		s, err := New(Options{Order: order, Cost: free})
		require.NoError(t, err)
		byPriority, number := true, 0
		seen := map[Criterion]bool{}
		for k, c := range order {
			if c == Start {
				byPriority = seen[HighestPriority]
				if byPriority && (seen[PrioritySum] || seen[Victims]) {
					number = k
				}
			}
			seen[c] = true
		}
		require.Equal(t, byPriority, s.byPriority, "%v", order)
		require.Equal(t, number, s.byNumber, "%v", order)
	}
}

// Only the plain order is left if the other criteria of the order have the value 0, which is the least.
func TestRanked(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	yes := 0
	for range 20000 {
		order := randomOrder(r)
		if r.IntN(2) == 0 { // mostly plain
			order = slices.Clone(plainOrder)
			for _, c := range []Criterion{Violations, Foreign, Cost} {
				if r.IntN(2) == 0 {
					order = slices.Insert(order, r.IntN(len(order)+1), c)
				}
			}
			if r.IntN(3) == 0 {
				k := r.IntN(len(order))
				order = slices.Delete(order, k, k+1)
			}
		}
		s := &Search{order: order}
		for c := range s.best {
			s.best[c] = int64(r.IntN(3)) / 2
		}
		rest := slices.DeleteFunc(slices.Clone(order), func(c Criterion) bool {
			return !slices.Contains(plainOrder, c) && s.best[c] == 0
		})
		want := slices.Equal(rest, plainOrder)
		require.Equal(t, want, s.ranked(), "%v %v", order, s.best)
		if want {
			yes++
		}
	}
	require.Greater(t, yes, 1000)
}

// One set dominates another if it is at least as good in every criterion, whatever victims come to both.
func TestDominates(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	drawn := func() (v Values) {
		for c := range v {
			v[c] = int64(r.IntN(7) / 6)
		}
		v[HighestPriority], v[Start] = int64(r.IntN(2)), int64(r.IntN(3))
		return v
	}
	for range 20000 {
		a, b := drawn(), drawn()
		s := &Search{byPriority: r.IntN(2) == 0}
		want := true
		for priority := int64(-1); priority < 3; priority++ {
			for start := int64(-1); start < 4; start++ {
				more := Values{HighestPriority: priority, Start: start}
				x, y := a, b
				x.add(&more)
				y.add(&more)
				for c := range x {
					if Criterion(c) != Start && x[c] > y[c] {
						want = false
					}
				}
				if x[Start] > y[Start] && (!s.byPriority || x[HighestPriority] == y[HighestPriority]) {
					want = false
				}
			}
		}
		require.Equal(t, want, s.dominates(&a, &b), "%v %v %t", a, b, s.byPriority)
	}
}

// A set that is taken is the best; pods of a higher priority are in no better set if this priority alone would be worse.
func TestLimitOfTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 2000 {
		order := randomOrder(r)
		s, err := New(Options{Order: order, Cost: free})
		require.NoError(t, err)
		require.EqualValues(t, math.MaxInt64, s.limit, "before the first victims there is no limit")
		v := noVictims
		for c := range v {
			v[c] = int64(r.IntN(3) - 1)
		}
		s.take(&v)
		require.Equal(t, v, s.best)
		limited := true
		for _, c := range order {
			if c == HighestPriority {
				break
			}
			least := int64(0)
			if c == Start {
				least = noVictims[Start]
			}
			if least != v[c] {
				limited = least > v[c]
				break
			}
		}
		if !slices.Contains(order, HighestPriority) {
			limited = Compare(noVictims, v, order) >= 0
		}
		limit := int64(math.MaxInt64)
		if limited {
			limit = v[HighestPriority]
		}
		require.Equal(t, limit, s.limit, "%v %v", order, v)
	}
}
