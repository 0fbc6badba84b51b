package preemption

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
)

// randomUnits fills a dry run with units of one or two pods, of few priorities and starts.
func randomUnits(r *rand.Rand, n int) *dryRun {
	d := &dryRun{r: &Request{Cluster: &list{nodes: []*v1.Node{testkit.Node("n").Obj(), testkit.Node("m").Obj()}}}}
	for range n {
		u := unit{from: len(d.members), priority: int32(r.IntN(3)), start: time.Unix(int64(r.IntN(3)), 0), foreign: r.IntN(3) == 0}
		for range 1 + r.IntN(2) {
			p := testkit.Pod("p").Labels("app=" + []string{"x", "y", "z"}[r.IntN(3)]).Priority(u.priority).Obj()
			d.members = append(d.members, member{Placed: Placed{Pod: p, Slot: r.IntN(2)}})
		}
		u.to = len(d.members)
		d.units = append(d.units, u)
	}
	return d
}

// plainCompare orders by the caller's order, or by priority, kind, number of pods and start; then units of other nodes come first.
func plainCompare(a, b unit) int {
	number := func(u unit) int {
		if u.foreign {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(b.priority, a.priority), cmp.Compare(b.kind, a.kind), cmp.Compare(b.to-b.from, a.to-a.from), a.start.Compare(b.start),
		cmp.Compare(number(a), number(b)),
	)
}

// Units are sorted by importance, few of them and many, and equal units keep their order.
func TestSortUnits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		d := randomUnits(r, r.IntN(45))
		want := slices.Clone(d.units)
		if r.IntN(2) == 0 { // the caller's order: the lower priority is more important, and the start does not count
			d.r.Options.MoreImportant = func(a, b *v1.Pod) bool { return Priority(a) < Priority(b) }
			for k := range want {
				want[k] = unit{from: want[k].from, to: want[k].from + 1, priority: -want[k].priority, foreign: want[k].foreign}
			}
		}
		plain := slices.Clone(want)
		for k, u := range d.units {
			for m := range d.units {
				require.Equal(t, plainCompare(plain[k], plain[m]), d.compare(&u, &d.units[m]))
			}
		}
		slices.SortStableFunc(want, plainCompare)
		d.sort()
		for k, u := range d.units {
			require.Equal(t, want[k].from, u.from)
		}
	}
}

// More important units draw from the budgets first. The victims are the pods of the units that leave. Of equally important units those
// that break a budget come first.
func TestCandidateOfUnits(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	broken := 0
	for range 3000 {
		d := randomUnits(r, 1+r.IntN(6))
		d.sort()
		allowed := map[string]int{"x": r.IntN(3), "y": r.IntN(2)}
		var budgets []*policyv1.PodDisruptionBudget
		for _, app := range []string{"x", "y"} {
			budgets = append(budgets, &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app},
				Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
				Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(allowed[app])},
			})
		}
		d.index, d.matches = newIndex(d.r.Cluster), map[*v1.Pod][]int32{}
		if r.IntN(4) > 0 {
			d.budgets = disruption.NewBudgets(budgets, disruption.BudgetOptions{})
			d.ledger = d.budgets.Ledger()
			d.ledger.Take([]int32{0, 1}, "other") // of the node before
		}
		if r.IntN(2) == 0 {
			d.r.Options.CrossNode = &CrossNode{}
		}
		d.split()
		var violations, foreign int
		breaks := map[*v1.Pod]bool{}
		for k := range d.units {
			u := &d.units[k]
			u.out = r.IntN(3) > 0
			violating := false
			for _, m := range d.members[u.from:u.to] {
				app := m.Pod.Labels["app"]
				if allowed[app]--; d.budgets != nil && app != "z" && allowed[app] < 0 {
					breaks[m.Pod], violating = true, true
					if u.out {
						violations++
					}
				}
				if u.out && m.Slot != 1 && d.r.Options.CrossNode != nil {
					foreign++
				}
			}
			require.Equal(t, violating, u.violating)
		}
		require.Equal(t, violations, d.violations())
		require.Equal(t, slices.ContainsFunc(d.units, func(u unit) bool { return u.out }), d.any())
		sorted := slices.Clone(d.units)
		slices.SortStableFunc(sorted, func(a, b unit) int {
			c := plainCompare(a, b)
			if c == 0 {
				c = trueFirst(a.violating, b.violating)
			}
			return c
		})
		var want []Victim
		for _, u := range sorted {
			for _, m := range d.members[u.from:u.to] {
				if u.out {
					want = append(want, Victim{m.Placed, breaks[m.Pod]})
				}
			}
		}
		d.pile = make([]Victim, 3) // of the candidates before
		c := d.candidate(1, violations)
		require.Equal(t, want, append([]Victim(nil), c.Victims...))
		require.Equal(t, Candidate{Slot: 1, Node: "m", Victims: c.Victims, Violations: int64(violations), Foreign: foreign}, c)
		require.Len(t, d.pile, 3+len(want))
		broken += violations
	}
	require.Greater(t, broken, 1000)
}

// Nothing of a request is held when it ends.
func TestRelease(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	d := randomUnits(r, 3)
	d.pile = make([]Victim, 4)
	d.clean, d.violating = []*choice{{}}, []*choice{{}}
	d.choices, d.chosen = []*choice{{candidate: Candidate{Node: "n"}}, {candidate: Candidate{Node: "m"}}}, 2
	d.placed = []Placed{{Pod: &v1.Pod{}}}
	d.asked = Problem{Slot: 4, Groups: []Group{{Priority: 3}}, Cluster: d.r.Cluster}
	d.release()
	require.Equal(t, 4, d.piled)
	for _, m := range d.members {
		require.Zero(t, m)
	}
	require.Equal(t, []*choice{nil}, d.clean)
	require.Equal(t, []*choice{nil}, d.violating)
	require.Equal(t, []*choice{{}, {}}, d.choices)
	require.Equal(t, []Placed{{}}, d.placed)
	require.Equal(t, []Group{{}}, d.asked.Groups[:1])
	require.Nil(t, d.asked.Cluster)
	require.Nil(t, d.r)
	require.Zero(t, d.chosen)
}

// The scores of the caller decide in their order, then the name of the node. What decided is the last criterion that the best
// candidate needed against another.
func TestChooseByScores(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 3000 {
		var candidates []Candidate
		for k := range r.IntN(5) {
			candidates = append(candidates, Candidate{Node: string(rune('e' - k)), Slot: r.IntN(2), Foreign: r.IntN(3)})
		}
		scores := []func(Candidate) int64{func(c Candidate) int64 { return int64(c.Slot) }, func(c Candidate) int64 { return int64(c.Foreign) }}[:1+r.IntN(2)]
		score := func(c Candidate) (n int64) {
			for _, f := range scores {
				n = 10*n + f(c)
			}
			return n
		}
		best, by := choose(candidates, make([]*criteria, len(candidates)), scores)
		if len(candidates) == 0 {
			require.Equal(t, -1, best)
			require.Empty(t, by)
			continue
		}
		want, why := 0, "only candidate"
		for k, c := range candidates {
			if cmp.Or(cmp.Compare(score(candidates[want]), score(c)), strings.Compare(c.Node, candidates[want].Node)) < 0 {
				want = k
			}
		}
		for k, c := range candidates {
			switch {
			case k == want:
			case score(c) == score(candidates[want]):
				why = "smallest node name"
			case why == "only candidate":
				why = "own score"
			}
		}
		require.Equal(t, want, best)
		require.Equal(t, why, by)
	}
}
