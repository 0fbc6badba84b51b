package optimal

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// measured is a cluster of one node per slot with these amounts.
type measured struct {
	preemption.Cluster
	used, offered []resources.Vector
}

func (c *measured) Requested(i int) resources.Vector   { return c.used[i] }
func (c *measured) Allocatable(i int) resources.Vector { return c.offered[i] }

// judge is a WhatIf that needs some amounts beside those of the node's pods. Its bars are pods that must leave.
type judge struct {
	preemption.WhatIf
	c     *measured
	needs resources.Vector
	bars  []preemption.Placed
	asked int
}

func (w *judge) Without(i int, left []int64) preemption.Answer {
	w.asked++
	for c, need := range w.needs {
		if left[c] < 0 {
			panic("pods ask for less than nothing")
		}
		if left[c]+need > w.c.offered[i].At(c) {
			return preemption.Answer{Verdict: 1}
		}
	}
	return preemption.Answer{}
}

func (w *judge) Bars(int) []preemption.Placed { return w.bars }

// What must become free of each column is what the pods ask for beyond the room beside the preemptor. The need that one node shows
// saves questions about the next.
func TestTight(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 14))
	saved := 0
	for range 3000 {
		c := &measured{}
		w := &judge{c: c}
		for range 3 {
			w.needs = append(w.needs, int64(r.IntN(5)))
		}
		for range 4 {
			var used, offered resources.Vector
			for range 3 {
				used, offered = append(used, int64(r.IntN(40))), append(offered, int64(r.IntN(40)))
			}
			c.used, c.offered = append(c.used, used), append(c.offered, offered)
		}
		s := &Search{needs: map[int]int64{}}
		n := &node{s: s}
		for i := range c.used {
			var columns []int
			var lacks []int64
			rooms := true
			for k, need := range w.needs {
				room := c.offered[i][k] - need
				rooms = rooms && room >= 0
				if c.used[i][k] > room {
					columns, lacks = append(columns, k), append(lacks, c.used[i][k]-room)
				}
			}
			if !rooms {
				columns, lacks = nil, nil
			}
			known := true
			for _, k := range columns {
				need, ok := s.needs[k]
				require.True(t, !ok || need == w.needs[k])
				known = known && ok
			}
			w.asked = 0
			n.p = &preemption.Problem{Slot: i, Cluster: c, WhatIf: w}
			n.tight()
			require.Equal(t, rooms, n.rooms)
			require.Equal(t, columns, append([]int(nil), n.columns...))
			require.Equal(t, lacks, append([]int64(nil), n.lacks...))
			if rooms && known {
				ask := 1 + 2*len(columns)
				for _, amount := range c.used[i] {
					if amount > 0 {
						ask++
					}
				}
				require.Equal(t, ask, w.asked, "two questions show that the known need is right")
				saved += len(columns)
			}
		}
	}
	require.Greater(t, saved, 500)
	n := &node{s: &Search{}, p: &preemption.Problem{Cluster: &measured{}}}
	n.tight()
	require.True(t, n.rooms, "without such a method the resources say nothing")
}

// A column that sums up the others lets no set of groups look too small that frees enough of each.
func TestSurrogate(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 15))
	for range 5000 {
		n := &node{s: &Search{order: DefaultOrder()}}
		columns := r.IntN(4)
		for range columns {
			n.lacks, n.free = append(n.lacks, int64(1+r.IntN(9))), append(n.free, 0)
		}
		for range r.IntN(5) {
			var g group
			for range columns {
				g.free = append(g.free, int64(r.IntN(12)))
			}
			n.groups = append(n.groups, g)
		}
		n.surrogate()
		if columns < 2 {
			require.Len(t, n.lacks, columns)
			continue
		}
		require.Len(t, n.lacks, columns+1)
		require.Len(t, n.free, columns+1)
		require.EqualValues(t, columns<<20, n.lacks[columns])
		require.Zero(t, n.free[columns], "no group leaves yet")
		for _, g := range n.groups {
			want := 0.0
			for c, lack := range n.lacks[:columns] {
				want += math.Min(1, float64(g.free[c])/float64(lack))
			}
			require.EqualValues(t, int64(want*(1<<20))+1, g.free[columns])
		}
		for k := range n.groups {
			for c := range n.lacks {
				require.Equal(t, total(frees(n.from(k), c)), n.after[k*(columns+1)+c])
			}
		}
	}
}

// No victims on a node are better than the best if the pods that must leave are not.
func TestBarred(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 16))
	now := testkit.Epoch
	budget := func(name, app string, allowed int32) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
		}
	}
	results := map[bool]int{}
	for range 5000 {
		order := randomOrder(r)
		s, err := New(Options{Order: order, NeverViolate: r.IntN(3) == 0, Cost: func(q preemption.Placed) int64 { return int64(q.Slot) }})
		require.NoError(t, err)
		w := &judge{}
		var taken, once, twice int64
		for range r.IntN(4) {
			app := []string{"", "one", "two"}[r.IntN(3)]
			q := testkit.Pod("q").Labels("app=" + app).Priority(int32(r.IntN(3))).Obj()
			switch app {
			case "one":
				once++
			case "two":
				twice++
			}
			taken++
			w.bars = append(w.bars, preemption.Placed{Pod: q, Slot: r.IntN(3)})
		}
		p := &preemption.Problem{WhatIf: w, Now: now, Matches: func(*v1.Pod) []int32 { return nil }}
		allowed := int64(r.IntN(3))
		var breaks int64
		if r.IntN(3) > 0 {
			all := disruption.NewBudgets([]*policyv1.PodDisruptionBudget{
				budget("a", "one", int32(allowed)), budget("b", "two", 0), budget("c", "two", 0),
			}, disruption.BudgetOptions{})
			p.Ledger = all.Ledger()
			p.Take = p.Ledger.TakeToBroken
			p.Matches = func(pod *v1.Pod) []int32 { return all.AppendMatches(nil, pod.Namespace, pod.Labels) }
			if breaks = max(0, once-allowed); twice > 0 {
				breaks = 0 // the order of pods with two budgets counts
			}
			if r.IntN(2) == 0 {
				p.Ledger.Take([]int32{0}, "other") // of a set that was tried before
			}
		}
		matches, read := p.Matches, 0
		p.Matches = func(pod *v1.Pod) []int32 {
			read++
			return matches(pod)
		}
		for c := range s.best {
			s.best[c] = int64(r.IntN(3))
		}
		s.best[PrioritySum] += (taken - 1) * (math.MaxInt32 + 1)
		s.best[Start] = -now.UnixMicro() + int64(r.IntN(2))
		for p.Slot = range 3 {
			v := noVictims
			for _, q := range w.bars {
				s.addPod(&v, q, p.Slot, now)
			}
			v[Violations] = breaks
			if !s.byPriority {
				v[Start] = math.MinInt64
			}
			want := len(w.bars) > 0 && (Compare(v, s.best, order) >= 0 || s.o.NeverViolate && breaks > 0)
			require.Equal(t, want, s.barred(p), "%v %v %v", order, v, s.best)
			if len(w.bars) > 0 {
				v[Foreign] = 0
				require.Equal(t, v, s.bars[&w.bars[0]], "what differs between slots is not kept")
			}
			results[want]++
			if p.Ledger != nil && len(w.bars) > 0 {
				require.Zero(t, p.Ledger.Mark())
			}
		}
		require.Equal(t, len(w.bars), read, "the list is evaluated once")
	}
	require.Greater(t, results[true], 1000)
	require.Greater(t, results[false], 1000)
	s, err := New(Options{})
	require.NoError(t, err)
	require.False(t, s.barred(&preemption.Problem{}))
}
