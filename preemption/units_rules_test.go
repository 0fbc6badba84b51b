package preemption

import (
	"fmt"
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
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/resources"
)

// A unit is as important as its most important pod, or as it says, and started with its first pod. It is asked about once, and is no
// victim if one of its pods must stay. Pods on no node do not count.
func TestCollectUnit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	now, collected := time.Unix(3, 0), 0
	for range 5000 {
		d := &dryRun{r: &Request{Now: now, Pod: &v1.Pod{}}, priority: int32(2 + r.IntN(3)), slots: [][]int{nil, nil}}
		stays := ""
		if r.IntN(2) == 0 {
			stays = fmt.Sprint("p", r.IntN(6))
			d.r.Options.Eligible = func(i int, victim, _ *v1.Pod) bool { return victim.Name != stays || i != 1 }
		}
		u := Unit{Kind: podgroup.Kind(r.IntN(3))}
		want, members, ok := unit{foreign: r.IntN(2) == 0, kind: u.Kind}, []member(nil), true
		for k := range r.IntN(4) {
			p := testkit.Pod(fmt.Sprint("p", k)).Priority(int32(r.IntN(4))).Obj()
			start := now
			if second := int64(r.IntN(6)); second > 0 {
				start = time.Unix(second, 0)
				p.Status.StartTime = &metav1.Time{Time: start}
			}
			slot := r.IntN(3) - 1
			u.Pods, d.slots[1] = append(u.Pods, p), append(d.slots[1], slot)
			if slot < 0 {
				continue
			}
			ok = ok && !(p.Name == stays && slot == 1)
			if len(members) == 0 {
				want.priority, want.start = Priority(p), start
			}
			want.priority = max(want.priority, Priority(p))
			if start.Before(want.start) {
				want.start = start
			}
			members = append(members, member{Placed: Placed{p, slot}})
		}
		if r.IntN(3) == 0 {
			priority := int32(r.IntN(5))
			u.Priority, want.priority = &priority, priority
		}
		d.r.Options.Units = []Unit{{}, u}
		d.members, d.units = []member{{}}, []unit{{to: 1}}
		for range 2 {
			d.collectUnit(0, 1, want.foreign)
		}
		require.Equal(t, []int{1}, d.seen)
		if !ok || len(members) == 0 || want.priority >= d.priority {
			require.Len(t, d.units, 1)
			require.Len(t, d.members, 1)
			continue
		}
		want.from, want.to = 1, 1+len(members)
		require.Equal(t, []unit{{to: 1}, want}, d.units)
		require.Equal(t, members, d.members[1:])
		collected++
	}
	require.Greater(t, collected, 1000)
}

// counting is a Searcher that says how many groups it is asked about. All of them leave.
type counting struct{ asked, groups int }

func (*counting) Begin()                {}
func (*counting) Exclude(*Problem) bool { return false }
func (c *counting) Solve(p *Problem) (leave []bool) {
	c.asked++
	c.groups = len(p.Groups)
	if p.Ledger != nil {
		if p.Ledger.Mark() != 0 {
			panic("something is drawn when the search begins")
		}
		p.Ledger.Take([]int32{0}, "drawn") // a Searcher may leave it so
	}
	for range p.Groups {
		leave = append(leave, true)
	}
	return leave
}

// open is a WhatIf that allows the preemptor only without all pods.
type open struct {
	words
	pods, out int
}

func (w *open) Reset()              { w.out = 0 }
func (w *open) Remove(*v1.Pod, int) { w.out++ }
func (w *open) Add(*v1.Pod, int)    { w.out-- }
func (w *open) Check(int) Answer {
	if w.out < w.pods {
		return Answer{Verdict: 1}
	}
	return Answer{}
}

func (w *open) Err(int, Answer) error { return nil }

// As many pods of other nodes may leave as CrossNode allows. With more of them the node is not tried, or without them by a Searcher.
func TestPodsOfOtherNodes(t *testing.T) {
	for foreign := range 5 {
		for own := range 3 {
			l := &list{nodes: []*v1.Node{testkit.Node("n").Obj(), testkit.Node("m").Obj()}, pods: make([][]*v1.Pod, 2)}
			for range own {
				l.pods[0] = append(l.pods[0], testkit.Pod("own").Priority(1).Obj())
			}
			others := []Placed{{Pod: testkit.Pod("here").Priority(1).Obj(), Slot: 0}, {Pod: testkit.Pod("important").Priority(5).Obj(), Slot: 1}}
			for range foreign {
				others = append(others, Placed{testkit.Pod("other").Priority(1).Obj(), 1})
			}
			options := Options{CrossNode: &CrossNode{Max: 3, Foreign: func(int) []Placed { return others }}}
			local := outcome{reason: "local"}
			run := func(o Options) (outcome, *dryRun) {
				d := &dryRun{r: &Request{Cluster: l, WhatIf: &open{pods: own + foreign}, Options: o}, index: newIndex(l), priority: 5}
				d.describe()
				return d.across(0, local), d
			}
			got, d := run(options)
			switch {
			case foreign == 0:
				require.Equal(t, local, got)
			case foreign > 3:
				require.Equal(t, outcome{reason: "more than 3 pods on other nodes may be in the way"}, got)
			default:
				require.Equal(t, outcome{found: true}, got)
				require.Equal(t, foreign, d.candidate(0, 0).Foreign)
			}
			search := &counting{}
			options.Search = search
			want := own + foreign
			if foreign > 3 {
				want = own
			}
			got, _ = run(options)
			require.Equal(t, want, search.groups)
			require.Equal(t, want > 0, got.found)
			if want == 0 {
				require.Equal(t, local, got)
			}
			options.CrossNode = &CrossNode{}
			got, _ = run(options)
			require.Equal(t, own > 0, got.found, "only the pods of the node")
			options.Search = nil
			got, _ = run(options)
			require.Equal(t, local, got, "the node was tried before")
		}
	}
	require.Equal(t, []int{50, 7}, []int{(&CrossNode{}).max(), (&CrossNode{Max: 7}).max()})
}

// A Searcher with CrossNode is asked once for a node, about the pods of all nodes. A node of which no pod may be a victim is not searched.
func TestOneSearchOfANode(t *testing.T) {
	l := &list{nodes: []*v1.Node{testkit.Node("n").Obj(), testkit.Node("m").Obj()}, pods: [][]*v1.Pod{{testkit.Pod("own").Priority(1).Obj()}, nil}}
	search := &counting{}
	d := &dryRun{r: &Request{Cluster: l, WhatIf: &open{pods: 2}}, index: newIndex(l), priority: 5}
	d.r.Options.Search, d.r.Options.CrossNode = search, &CrossNode{Foreign: func(int) []Placed { return []Placed{{testkit.Pod("other").Priority(1).Obj(), 1}} }}
	d.describe()
	require.True(t, d.node(0).found)
	require.Equal(t, []int{1, 2}, []int{search.asked, search.groups})
	d.r.Options = Options{Eligible: func(int, *v1.Pod, *v1.Pod) bool { return false }}
	require.Equal(t, outcome{reason: noVictims}, d.node(0), "the filters are not asked")
}

// One pod more than CrossNode allows shows that there are too many. The others are not read.
func TestPodsBeyondTheLimit(t *testing.T) {
	for _, own := range []int{0, 2} {
		asked := 0
		d := &dryRun{r: &Request{}, priority: 5, members: make([]member, own), units: make([]unit, own)}
		d.r.Options.Eligible = func(int, *v1.Pod, *v1.Pod) bool {
			asked++
			return true
		}
		d.r.Options.CrossNode = &CrossNode{Max: 3, Foreign: func(int) []Placed {
			return slices.Repeat([]Placed{{testkit.Pod("other").Priority(1).Obj(), 1}}, 9)
		}}
		d.collectForeign(0)
		require.Equal(t, 4, asked)
		require.Len(t, d.members, own+4)
		require.Len(t, d.units, own+4)
	}
}

// The pods of a unit that are on no node, or nil, have slot -1. A free slot has no pods, and is not asked for them.
func TestFindUnits(t *testing.T) {
	a, b, elsewhere := testkit.Pod("a").Obj(), testkit.Pod("b").Obj(), testkit.Pod("elsewhere").Obj()
	l := &list{nodes: []*v1.Node{nil, testkit.Node("n").Obj()}, pods: [][]*v1.Pod{{a}, {b}}}
	d := &dryRun{r: &Request{Cluster: l, Options: Options{Units: []Unit{{Pods: []*v1.Pod{elsewhere, nil, b}}, {Pods: []*v1.Pod{a, b}}}}}}
	d.findUnits()
	require.Equal(t, [][]int{{-1, -1, 1}, {-1, -1}}, d.slots)
	require.Equal(t, -1, d.r.slot("elsewhere"))
	require.Equal(t, 1, d.r.slot("n"))
}

// Of the pods that a Searcher lets leave those break a budget that the budget does not allow.
func TestBudgetsOfASearcher(t *testing.T) {
	l := &list{nodes: []*v1.Node{testkit.Node("n").Obj()}, pods: make([][]*v1.Pod, 1)}
	for k := range 3 {
		l.pods[0] = append(l.pods[0], testkit.Pod(fmt.Sprint("p", k)).Labels("app=x").Priority(1).Obj())
	}
	budgets := disruption.NewBudgets([]*policyv1.PodDisruptionBudget{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1},
	}}, disruption.BudgetOptions{})
	d := &dryRun{
		r:     &Request{Cluster: l, WhatIf: &open{}, Options: Options{Search: &counting{}}},
		index: newIndex(l), priority: 5, budgets: budgets, ledger: budgets.Ledger(), matches: map[*v1.Pod][]int32{},
	}
	d.describe()
	for range 2 {
		require.Equal(t, outcome{found: true}, d.node(0))
		require.Equal(t, 2, d.violations())
	}
}

// A planner holds nothing of a request that it has answered. Left knows no sum when pods of a low priority may have to stay.
func TestAnsweredRequest(t *testing.T) {
	l := &list{nodes: []*v1.Node{testkit.Node("n").Obj()}, pods: [][]*v1.Pod{{testkit.Pod("a").Priority(1).Obj()}}}
	certain := 0
	exclude := &lefts{certain: &certain}
	for _, o := range []Options{{Search: exclude}, {Search: exclude, Eligible: func(int, *v1.Pod, *v1.Pod) bool { return true }}} {
		certain = 0
		var pl Planner
		l.requests = map[*v1.Pod]resources.Vector{l.pods[0][0]: {1}}
		got := pl.Preempt(Request{Pod: testkit.Pod("p").Priority(5).Obj(), Cluster: l, WhatIf: &open{pods: 1}, Rejections: []Rejection{Resolvable}, Options: o})
		require.Equal(t, Success, got.Outcome)
		require.Nil(t, pl.run.r)
		require.Equal(t, o.Eligible == nil, certain > 0)
	}
}

// lefts is a Searcher that counts how often Left is certain.
type lefts struct {
	counting
	certain *int
}

func (s *lefts) Exclude(p *Problem) bool {
	for range 2 {
		if _, ok := p.Left(1); ok {
			*s.certain++
		}
	}
	return false
}
