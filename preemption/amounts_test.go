package preemption

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// room is a WhatIf that compares what the pods of a slot ask for with what the slot has. It has no method Needs.
type room struct {
	words
	cluster *list
	holds   map[*v1.Pod]resources.Vector // what a pod asks for, also if the cluster does not say it
	pods    int64
	amounts resources.Vector // that a slot has
	asked   resources.Vector // that the preemptor asks for
	out     []*v1.Pod
}

func (w *room) Reset()                  { w.out = nil }
func (w *room) Remove(p *v1.Pod, _ int) { w.out = append(w.out, p) }
func (w *room) Add(p *v1.Pod, _ int) {
	w.out = slices.DeleteFunc(w.out, func(q *v1.Pod) bool { return q == p })
}
func (w *room) Err(int, Answer) error                { return nil }
func (w *room) stays(p *v1.Pod) bool                 { return !slices.Contains(w.out, p) }
func (w *room) Reasons(int, Answer) ([]string, bool) { return []string{"no room"}, true }

func (w *room) Check(i int) Answer {
	pods, left := w.pods, slices.Clone(w.amounts)
	for _, p := range w.cluster.pods[i] {
		if w.stays(p) {
			pods--
			for c := range left {
				left[c] -= w.holds[p].At(c)
			}
		}
	}
	for c := range left {
		if left[c] < w.asked[c] {
			return Answer{Verdict: 1}
		}
	}
	if pods < 1 {
		return Answer{Verdict: 2}
	}
	return Answer{}
}

// numbers is a room with the method Needs.
type numbers struct {
	*room
	unsure int // the slot about which Needs is not certain
	needed int // answers of Needs
}

func (w *numbers) Needs(i int) (pods int64, columns []int, amounts []int64, ok bool) {
	if i == w.unsure {
		return 0, nil, nil, false
	}
	w.needed++
	pods = int64(len(w.cluster.pods[i])) + 1 - w.pods
	for c := len(w.amounts) - 1; c >= 0; c-- {
		need := w.asked[c] - w.amounts[c]
		for _, p := range w.cluster.pods[i] {
			need += w.holds[p].At(c)
		}
		columns, amounts = append(columns, c), append(amounts, need)
	}
	return pods, columns, amounts, true
}

// Victims that amounts decide are those of a request that removes the pods from what the filters have counted, however the cluster, the
// budgets, the time, the release and the preemptors change.
func TestAmounts(t *testing.T) {
	var needed, found, violating, undated, unknown int
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 73))
		l, holds := &list{requests: map[*v1.Pod]resources.Vector{}}, map[*v1.Pod]resources.Vector{}
		slots := 2 + r.IntN(5)
		for k := range slots {
			l.nodes, l.pods = append(l.nodes, testkit.Node(fmt.Sprint("n", k)).Obj()), append(l.pods, nil)
		}
		x, planner := NewIndex(l), new(Planner)
		budgets := someBudgets(r)
		come := func() {
			p := testkit.Pod(fmt.Sprint("p", r.IntN(1000))).Labels("app=" + string("abc"[r.IntN(3)])).Priority(int32(r.IntN(6))).Obj()
			if r.IntN(12) > 0 {
				at := metav1.NewTime(time.Unix(int64(r.IntN(6)), 0))
				p.Status.StartTime = &at
			}
			v := resources.Vector{int64(r.IntN(4)), int64(r.IntN(4)), int64(r.IntN(2))}
			if r.IntN(40) == 0 {
				v[1] = maxAmount / 2
			}
			holds[p] = v[:2+r.IntN(2)]
			if l.requests[p] = holds[p]; r.IntN(60) == 0 {
				delete(l.requests, p)
				unknown++
			}
			i := r.IntN(slots)
			l.pods[i] = append(slices.Clone(l.pods[i]), p)
			x.Touch(i)
		}
		for range 4 * slots {
			come()
		}
		for step := range 60 {
			switch r.IntN(16) {
			case 0:
				budgets = someBudgets(r)
			case 1:
				come()
			case 2, 3:
				if i := r.IntN(slots); len(l.pods[i]) > 0 {
					at := r.IntN(len(l.pods[i]))
					l.pods[i] = slices.Delete(slices.Clone(l.pods[i]), at, at+1)
					x.Touch(i)
				}
			case 4:
				if i := r.IntN(slots); r.IntN(3) == 0 {
					l.pods[i] = nil
					x.Forget()
				}
			case 5:
				x = NewIndex(l)
			default:
				have := &room{
					cluster: l, holds: holds, pods: int64(1 + r.IntN(9)), amounts: resources.Vector{int64(2 + r.IntN(9)), int64(2 + r.IntN(9)), int64(r.IntN(3))},
					asked: resources.Vector{int64(r.IntN(5)), int64(r.IntN(5)), int64(r.IntN(2))},
				}
				fast := &numbers{room: have, unsure: r.IntN(3 * slots)}
				q := Request{
					Pod: testkit.Pod("vip").Priority(int32(r.IntN(8))).Obj(), Cluster: l, WhatIf: fast, Index: x, Budgets: budgets, Now: time.Unix(int64(3+r.IntN(6)), 0),
					Options: Options{Offset: r.IntN(9), Release: []release.Version{release.V1_36, release.V1_37}[r.IntN(2)]},
				}
				for range slots {
					q.Rejections = append(q.Rejections, []Rejection{Resolvable, Resolvable, Resolvable, Fits}[r.IntN(4)])
				}
				got := planner.Preempt(q)
				needed += fast.needed
				q.WhatIf, q.Index = have, nil
				want := Preempt(q)
				require.Equal(t, want, got, "seed %d step %d", seed, step)
				if got.Outcome == Success && fast.needed > 0 {
					found++
				}
				for _, c := range got.Candidates {
					violating += int(c.Violations)
					for _, v := range c.Victims {
						if v.Pod.Status.StartTime == nil {
							undated++
						}
					}
				}
			}
		}
	}
	require.Greater(t, needed, 5000)
	require.Greater(t, found, 2000)
	require.Greater(t, violating, 1000)
	require.Greater(t, undated, 100)
	require.Greater(t, unknown, 50)
}

func someBudgets(r *rand.Rand) *disruption.Budgets {
	var list []*policyv1.PodDisruptionBudget
	for _, app := range []string{"a", "b", "b"} {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("budget", len(list))}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
		b.Status.DisruptionsAllowed = int32(r.IntN(3))
		list = append(list, b)
	}
	return disruption.NewBudgets(list, disruption.BudgetOptions{})
}

// Of a slot the index asks once for the pods below a priority, and again after a change of the slot, of everything, or of the budgets. What is
// kept is bounded.
func TestRankings(t *testing.T) {
	l := &list{nodes: []*v1.Node{testkit.Node("n").Obj(), testkit.Node("m").Obj()}, pods: make([][]*v1.Pod, 2), requests: map[*v1.Pod]resources.Vector{}}
	for _, priority := range []int32{1, 4, 4, 7} {
		p := testkit.Pod("p").Priority(priority).Obj()
		p.Status.StartTime = &metav1.Time{Time: time.Unix(1, 0)}
		l.pods[0], l.requests[p] = append(l.pods[0], p), resources.Vector{1}
	}
	x := newIndex(l)
	w := &numbers{room: &room{cluster: l}}
	d := &dryRun{r: &Request{Cluster: l, WhatIf: w, Index: x, Now: time.Unix(9, 0)}, index: x}
	ask := func(priority int32) *ranking {
		d.priority = priority
		d.rankFor()
		return d.ranking(0)
	}
	for _, same := range [][2]int32{{2, 4}, {5, 7}, {8, math.MaxInt32}} {
		a := ask(same[0])
		a.exact = false // a mark
		require.False(t, ask(same[1]).exact, "%v", same)
		require.False(t, ask(same[0]).exact, "%v", same)
		require.True(t, ask(same[0]-1).exact || same[0] > 2, "%v", same)
	}
	require.Len(t, d.rankings.slots[0], 4, "one for each priority of the slot, and one for none")
	require.Equal(t, 0+1+3+4, d.rankings.pods)
	d.index.Touch(1)
	require.False(t, ask(2).exact, "another slot")
	for what, change := range map[string]func(){
		"slot": func() { d.index.Touch(0) },
		"all":  func() { d.index.Forget() },
		"budgets": func() {
			d.budgets = disruption.NewBudgets(nil, disruption.BudgetOptions{})
			d.ledger = d.budgets.Ledger()
			d.matches = map[*v1.Pod][]int32{}
		},
		"release": func() { d.r.Options.Release = release.V1_36 },
		"index":   func() { d.index = newIndex(l) },
		"slots":   func() { l.nodes, l.pods = append(l.nodes, nil), append(l.pods, nil) },
	} {
		ask(2).exact = false
		change()
		require.True(t, ask(2).exact, what)
		require.Len(t, d.rankings.slots[0], 1, what)
		require.Equal(t, 1, d.rankings.pods, what)
	}
	d.rankings.pods = maxRanked - 3
	ask(5)
	require.Len(t, d.rankings.slots[0], 2)
	ask(8)
	require.Len(t, d.rankings.slots[0], 1, "all are forgotten")
	require.Equal(t, 4, d.rankings.pods)
	d.r.Now = time.Unix(1, 0)
	l.pods[0][0].Status.StartTime = nil
	d.index.Touch(0)
	require.Zero(t, ask(8).at, "the order may be another one for the next request")
	d.r.Now = time.Unix(2, 0)
	require.NotZero(t, ask(8).at)
}
