package preemption

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// sharing is a WhatIf whose preemptors of a kind share work.
type sharing struct {
	words
	kind               any
	states, rejections uint64
}

func (w *sharing) Kept() (kind any, states, rejections uint64) { return w.kind, w.states, w.rejections }

// What is kept for a kind of preemptor stays until the index, its cluster, the budgets or the state of the filters change. The slots to
// try are found again when the rejections or the names of the nodes change.
func TestWhatIsKept(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	l := &list{}
	for k := range 5 {
		l.nodes = append(l.nodes, testkit.Node(fmt.Sprint("n", k)).Obj())
	}
	w := &sharing{}
	q := &Request{Cluster: l, WhatIf: w, Rejections: make([]Rejection, 8)}
	d := &dryRun{r: q, index: newIndex(l)}
	type memory struct {
		index     *index
		budgets   *disruption.Budgets
		states    uint64
		forgotten int
		slots     int
		rejected  uint64
		sorts     int
		try       []int32
		mark      uint64
	}
	remembered, forgotten, sorts, stayed := map[any]*memory{}, 0, 0, 0
	for round := range uint64(4000) {
		switch r.IntN(12) {
		case 0:
			w.states++
		case 1:
			w.rejections++
		case 2:
			d.budgets = disruption.NewBudgets(nil, disruption.BudgetOptions{})
		case 3:
			d.index = newIndex(l)
		case 4:
			d.index.Forget()
			forgotten++
		case 5:
			if l.nodes = append(l.nodes, testkit.Node(fmt.Sprint("m", round)).Obj()); len(l.nodes) > 8 {
				l.nodes = l.nodes[:4]
			}
			d.index.TouchNodes()
			sorts++
		case 6:
			l.nodes[0], l.nodes[1] = l.nodes[1], l.nodes[0]
			d.index.TouchNodes()
			sorts++
		case 7:
			for i := range q.Rejections { // noticed with w.rejections only
				q.Rejections[i] = Rejection(r.IntN(2))
			}
		}
		q.Index, w.kind = d.index, []any{"a", "b"}[r.IntN(2)]
		x := d.keptFor()
		m := remembered[w.kind]
		if m == nil {
			m = &memory{}
			remembered[w.kind] = m
		}
		if m.index != d.index || m.budgets != d.budgets || m.states != w.states || m.forgotten != forgotten || m.slots != len(l.nodes) {
			*m = memory{index: d.index, budgets: d.budgets, states: w.states, forgotten: forgotten, slots: len(l.nodes), sorts: -1}
		} else {
			stayed++
		}
		if m.rejected != w.rejections || m.sorts != sorts {
			m.rejected, m.sorts, m.try = w.rejections, sorts, nil
			for _, i := range d.index.byName() {
				if q.Rejections[i] == Resolvable {
					m.try = append(m.try, i)
				}
			}
		}
		require.Equal(t, m.try, append([]int32(nil), x.try...))
		require.Len(t, x.slots, len(l.nodes))
		for _, s := range x.slots {
			require.Equal(t, m.mark, s.at)
		}
		m.mark = round + 1
		for i := range x.slots {
			x.slots[i].at = m.mark
		}
	}
	require.Greater(t, stayed, 1000)
}

// Nothing is kept for a request whose answer depends on more than the kind of the preemptor.
func TestWhatIsNotKept(t *testing.T) {
	l := &list{nodes: []*v1.Node{testkit.Node("n").Obj()}}
	for k, change := range []func(d *dryRun, w *sharing){
		func(*dryRun, *sharing) {},
		func(_ *dryRun, w *sharing) { w.kind = nil },
		func(d *dryRun, _ *sharing) { d.r.WhatIf = &words{} },
		func(d *dryRun, _ *sharing) { d.r.Index = nil },
		func(d *dryRun, _ *sharing) { d.unitOf = map[podName]int{} },
		func(d *dryRun, _ *sharing) { d.r.Options.Eligible = func(int, *v1.Pod, *v1.Pod) bool { return true } },
		func(d *dryRun, _ *sharing) { d.r.Options.CrossNode = &CrossNode{} },
		func(d *dryRun, _ *sharing) { d.r.Options.MoreImportant = func(a, b *v1.Pod) bool { return false } },
		func(d *dryRun, _ *sharing) { d.r.Options.NeverViolate = true },
		func(d *dryRun, _ *sharing) { d.r.Options.Search = struct{ Searcher }{} },
	} {
		x, w := newIndex(l), &sharing{kind: "a"}
		d := &dryRun{r: &Request{Cluster: l, WhatIf: w, Index: x}, index: x}
		change(d, w)
		require.Equal(t, k == 0, d.keptFor() != nil, "%d", k)
	}
}

// All kinds are forgotten when they would have more than 262,144 slots together.
func TestKeptSlotsAreBounded(t *testing.T) {
	l, w := &list{nodes: make([]*v1.Node, 1<<16)}, &sharing{}
	x := newIndex(l)
	d := &dryRun{r: &Request{Cluster: l, WhatIf: w, Index: x}, index: x}
	for k, want := range []int{1, 2, 3, 4, 1, 2} {
		if l.nodes = l.nodes[:1<<16]; k == 4 {
			l.nodes = l.nodes[:1] // one slot too many
		}
		w.kind = k
		first := d.keptFor()
		require.Same(t, first, d.keptFor())
		require.Len(t, d.kept, want)
		if k < 4 {
			require.Equal(t, want<<16, d.keptSlots)
		} else {
			require.Equal(t, 1+(want-1)<<16, d.keptSlots)
		}
	}
}

// A choice holds as long as pods without start time started after all others.
func TestChoiceHolds(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	one := func(second int64) member {
		p := testkit.Pod("p").Obj()
		if second > 0 {
			p.Status.StartTime = &metav1.Time{Time: at(second)}
		}
		return member{Placed: Placed{Pod: p}}
	}
	for k, c := range []struct {
		members []member
		undated bool
		latest  int64
		holds   []bool // at seconds 3 to 6
	}{
		{[]member{one(4), one(5), one(2)}, false, 5, []bool{true, true, true, true}},
		{[]member{one(5), one(0)}, true, 5, []bool{false, false, false, true}},
		{[]member{one(0), one(4), one(3)}, true, 4, []bool{false, false, true, true}},
	} {
		l := &list{nodes: []*v1.Node{testkit.Node("n").Obj()}}
		d := &dryRun{r: &Request{Cluster: l, Now: at(9)}, members: c.members}
		var x choice
		d.choose(&x, 0)
		require.Equal(t, c.undated, x.undated, "%d", k)
		require.Equal(t, at(c.latest), x.latest, "%d", k)
		for n, want := range c.holds {
			require.Equal(t, want, x.holds(at(int64(3+n))), "%d at %d", k, 3+n)
		}
	}
	for k, c := range []struct {
		out  []int64 // starts of victims; 0: none
		now  int64
		want bool
	}{{[]int64{4}, 9, false}, {[]int64{9}, 9, false}, {[]int64{0}, 9, true}, {[]int64{0, 4}, 9, false}, {[]int64{4, 0}, 9, false}} {
		d := &dryRun{r: &Request{Cluster: &list{nodes: []*v1.Node{testkit.Node("n").Obj()}}, Now: at(c.now)}}
		for k, second := range c.out {
			d.members, d.units = append(d.members, one(second)), append(d.units, unit{from: k, to: k + 1, out: true})
		}
		var x choice
		d.choose(&x, 0)
		require.Equal(t, c.want, x.now, "%d", k)
	}
	x := choice{values: criteria{start: at(4)}}
	require.Equal(t, at(4), x.at(at(7)).start)
	x.now = true
	require.Equal(t, at(7), x.at(at(7)).start)
}

// keptOpen is an open whose preemptors share work.
type keptOpen struct{ *open }

func (keptOpen) Kept() (kind any, states, rejections uint64) { return "kind", 0, 0 }

// Two attempts with the same rejections try the same slots.
func TestKeptSlotsAreTried(t *testing.T) {
	l := &list{nodes: []*v1.Node{testkit.Node("n").Obj(), testkit.Node("m").Obj()}, pods: make([][]*v1.Pod, 2)}
	r := Request{Pod: testkit.Pod("p").Priority(5).Obj(), Cluster: l, WhatIf: keptOpen{&open{pods: 1}}, Index: newIndex(l)}
	var pl Planner
	for k, rejections := range [][]Rejection{{Resolvable, Unresolvable}, {Resolvable, Resolvable}} {
		r.Rejections = rejections
		require.Equal(t, 1, pl.Preempt(r).Tried, "request %d", k)
	}
	require.Equal(t, 1024, pl.run.sweepAt)
	r.Index = nil
	require.Equal(t, 2, pl.Preempt(r).Tried)
	require.Equal(t, []int32{1, 0}, pl.run.try, "the next request uses the memory")
}

// A slot is tried once for a kind of preemptor, and again after its pods have changed. Requests that keep nothing try it each time.
func TestKeptOutcome(t *testing.T) {
	l := &list{nodes: []*v1.Node{testkit.Node("n").Obj(), testkit.Node("m").Obj()}, pods: make([][]*v1.Pod, 2)}
	l.pods[0] = []*v1.Pod{testkit.Pod("a").Priority(1).Obj()}
	w := &open{pods: 1}
	d := &dryRun{r: &Request{Cluster: l, WhatIf: w, Now: time.Unix(9, 0)}, index: newIndex(l), priority: 5}
	x := &kept{slots: make([]keptSlot, 2)}
	var h histogram
	tried := func(x *kept, i int) bool {
		w.out = 99 // until a trial begins
		o, c := d.outcome(x, i, &h)
		require.Equal(t, i == 0, o.found)
		require.Equal(t, x != nil && i == 0, c != nil)
		if c != nil {
			require.Equal(t, "n", c.candidate.Node)
		}
		return w.out != 99
	}
	for _, want := range []bool{true, false, false} {
		require.Equal(t, want, tried(x, 0))
	}
	d.index.Touch(1)
	require.False(t, tried(x, 0))
	d.index.Touch(0)
	require.True(t, tried(x, 0))
	require.False(t, tried(x, 0))
	require.True(t, tried(nil, 0))
	require.True(t, tried(nil, 0))
	tried(x, 1)
	tried(nil, 1)
	require.Equal(t, 2, h.nodes, "nodes without victims are counted")
	l.pods[1] = []*v1.Pod{testkit.Pod("b").Priority(1).Obj()}
	w.pods = 2 // one pod that leaves is not enough
	for _, general := range []bool{true, false} {
		w.general = map[Answer]bool{{Verdict: 1}: general}
		h = histogram{}
		d.index.Touch(1)
		for _, want := range []bool{true, !general, !general} {
			require.Equal(t, want, tried(x, 1), "reasons that differ between slots are asked for again")
		}
		require.Equal(t, 3, h.nodes)
	}
}

// Choices that nobody keeps use the memory of the requests before.
func TestSpare(t *testing.T) {
	d := &dryRun{r: &Request{}}
	a, b := d.spare(), d.spare()
	require.NotSame(t, a, b)
	require.Equal(t, 2, d.chosen)
	d.chosen = 0
	require.Same(t, a, d.spare())
	require.Same(t, b, d.spare())
	require.Len(t, d.choices, 2)
	d.spare()
	require.Len(t, d.choices, 3)
}

// Matches are swept when there are 1024, and then when there are twice as many as were left.
func TestSweepAt(t *testing.T) {
	x := newIndex(&list{})
	for _, c := range []struct{ runs, want int }{{0, 1024}, {512, 1024}, {513, 1026}, {2000, 4000}} {
		d := &dryRun{index: x, matches: map[*v1.Pod][]int32{}}
		x.requests = func(p *v1.Pod) (resources.Vector, bool) { return nil, p.Name == "" }
		for range c.runs {
			d.matches[&v1.Pod{}] = nil
		}
		d.matches[testkit.Pod("left").Obj()] = nil
		d.sweep()
		require.Len(t, d.matches, c.runs)
		require.Equal(t, c.want, d.sweepAt)
	}
}

// The budgets of a pod are looked up once. A pod that is new sweeps when there are many matches.
func TestMatching(t *testing.T) {
	budgets := disruption.NewBudgets([]*policyv1.PodDisruptionBudget{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}},
	}}, disruption.BudgetOptions{})
	x := newIndex(&list{})
	for _, c := range []struct{ matches, want int }{{2, 3}, {3, 1}, {4, 1}} {
		d := &dryRun{index: x, budgets: budgets, matches: map[*v1.Pod][]int32{}, sweepAt: 3}
		for range c.matches {
			d.matches[testkit.Pod("left").Obj()] = nil
		}
		p := testkit.Pod("p").Labels("app=x").Obj()
		require.Equal(t, []int32{0}, d.matching(p))
		require.Len(t, d.matches, c.want)
		d.sweepAt = 0
		require.Equal(t, []int32{0}, d.matching(p))
		require.Len(t, d.matches, c.want, "the answer was kept")
		x.requests, d.sweepAt = nil, 0
		d.matching(testkit.Pod("q").Obj())
		require.Len(t, d.matches, 1, "a cluster that does not say which pods it has")
		x.requests = (&list{}).PodRequests
	}
}

// By default a tenth of the nodes is enough, and at least 100.
func TestDefaultNumber(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, 99: 99, 100: 100, 101: 100, 999: 100, 1000: 100, 1009: 100, 1010: 101, 5000: 500} {
		require.Equal(t, want, CandidateArgs{}.number(n), "%d nodes", n)
	}
}
