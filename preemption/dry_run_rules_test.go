package preemption

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// never is a bounder that allows nothing.
type never struct{}

func (never) Without(int, []int64) Answer { return Answer{Verdict: 1} }

// broken is a WhatIf whose answers are errors.
type broken struct{ open }

func (*broken) Err(int, Answer) error { return errors.New("broken") }

// A node on which a filter fails, or on which no victim gives room, has no victims on other nodes either.
func TestPodsOfOtherNodesDoNotHelp(t *testing.T) {
	l := &list{nodes: []*v1.Node{testkit.Node("n").Obj()}, pods: [][]*v1.Pod{{testkit.Pod("own").Priority(1).Obj()}}}
	others := Options{CrossNode: &CrossNode{Foreign: func(int) []Placed { return []Placed{{testkit.Pod("other").Priority(1).Obj(), 1}} }}}
	local := outcome{reason: "local"}
	d := &dryRun{r: &Request{Cluster: l, WhatIf: &open{pods: 3}, Options: others}, index: newIndex(l), priority: 5}
	require.Equal(t, local, d.across(0, local))
	d.r.WhatIf = &broken{open{pods: 2}} // enough with the other pod
	require.EqualError(t, d.node(0).err, "broken")
}

// With binding budgets too, a node that was rejected and on which every pod can stay is an error.
func TestNobodyNeedsToLeave(t *testing.T) {
	l := &list{nodes: []*v1.Node{testkit.Node("n").Obj()}, pods: [][]*v1.Pod{{testkit.Pod("a").Priority(1).Obj()}}}
	for _, strict := range []bool{false, true} {
		d := &dryRun{r: &Request{Cluster: l, WhatIf: &open{}, Options: Options{NeverViolate: strict}}, index: newIndex(l), priority: 5}
		require.EqualError(t, d.node(0).err, `expected at least one victim pod on node "n"`)
	}
}

// firstOnly is a Searcher that finds victims on one slot only.
type firstOnly struct {
	counting
	slot int
}

func (s *firstOnly) Solve(p *Problem) []bool {
	if p.Slot != s.slot {
		return nil
	}
	return s.counting.Solve(p)
}

// Why a Searcher finds nothing is asked as long as no node has victims.
func TestReasonsOfASearcher(t *testing.T) {
	l := &list{nodes: []*v1.Node{testkit.Node("a").Obj(), testkit.Node("b").Obj()}, pods: [][]*v1.Pod{{testkit.Pod("a").Priority(1).Obj()}, {testkit.Pod("b").Priority(1).Obj()}}}
	w := &open{pods: 9}
	w.general = map[Answer]bool{}
	search := &firstOnly{}
	var pl Planner
	for _, c := range []struct {
		slot int
		want []string
	}{
		{0, []string{"1 " + refusedReason}}, {1, []string{"1 0/1 on 0"}}, {0, []string{"1 " + refusedReason}}, {7, []string{"1 0/1 on 0", "1 0/1 on 1"}},
	} {
		search.slot = c.slot
		got := pl.Preempt(Request{Pod: testkit.Pod("p").Priority(5).Obj(), Cluster: l, WhatIf: w, Rejections: []Rejection{Resolvable, Resolvable}, Options: Options{Search: search}})
		require.Equal(t, c.want, got.Reasons)
		require.Equal(t, map[bool]int{true: c.slot, false: -1}[c.slot < 2], got.Slot)
	}
}

// telling is a Searcher that keeps what it is told of groups, by their first pods.
type telling struct {
	counting
	told map[string]any
}

func (s *telling) Solve(p *Problem) []bool {
	for _, g := range p.Groups {
		s.told[g.Pods[0].Pod.Name] = [2]any{g.Priority, g.Start}
	}
	return s.counting.Solve(p)
}

// A Searcher is told the priority of each group and when it has started; a pod that has not started starts now.
func TestGroupsOfASearcher(t *testing.T) {
	old, young := testkit.Pod("old").Priority(3).Obj(), testkit.Pod("young").Priority(1).Obj()
	now := metav1.NewTime(testkit.Epoch)
	old.Status.StartTime = &metav1.Time{Time: now.Add(-time.Hour)}
	l := &list{nodes: []*v1.Node{testkit.Node("a").Obj()}, pods: [][]*v1.Pod{{old, young}}}
	search := &telling{told: map[string]any{}}
	var pl Planner
	pl.Preempt(Request{Pod: testkit.Pod("p").Priority(5).Obj(), Cluster: l, WhatIf: &open{pods: 2}, Now: now.Time, Rejections: []Rejection{Resolvable}, Options: Options{Search: search}})
	require.Equal(t, map[string]any{"old": [2]any{int32(3), now.Add(-time.Hour)}, "young": [2]any{int32(1), now.Time}}, search.told)

	d := &dryRun{r: &Request{}, priority: 5}
	d.collect(0, &resident{pod: old, priority: 3}, true)
	require.True(t, d.units[0].foreign, "a pod of another node")
}

// slotted is a cluster that knows the slots of its nodes.
type slotted struct{ *list }

func (slotted) Slot(string) int { return 7 }

// A cluster that knows the slot of a node is asked, and no budgets protect a pod without budgets.
func TestWhatIsAsked(t *testing.T) {
	l := &list{nodes: []*v1.Node{testkit.Node("n").Obj()}}
	require.Equal(t, 7, (&Request{Cluster: slotted{l}}).slot("n"))
	d := &dryRun{r: &Request{Cluster: l}, index: newIndex(l)}
	d.describe()
	require.Nil(t, d.asked.Matches(testkit.Pod("p").Labels("app=x").Obj()))
}

// A unit can have the lowest of all priorities.
func TestLowestUnit(t *testing.T) {
	p := testkit.Pod("p").Priority(math.MinInt32).Obj()
	d := &dryRun{r: &Request{Options: Options{Units: []Unit{{Pods: []*v1.Pod{p}}}}}, slots: [][]int{{0}}}
	d.collectUnit(0, 0, false)
	require.EqualValues(t, math.MinInt32, d.units[0].priority)
}

// A node without pods of a lower priority needs no search, unless units or pods of other nodes may leave.
func TestHopeless(t *testing.T) {
	l := &list{nodes: []*v1.Node{testkit.Node("n").Obj()}, pods: [][]*v1.Pod{{testkit.Pod("a").Priority(5).Obj()}}}
	l.requests = map[*v1.Pod]resources.Vector{l.pods[0][0]: {1}}
	for priority, want := range map[int32]bool{4: true, 5: true, 6: false} {
		d := &dryRun{r: &Request{Cluster: l}, index: newIndex(l), priority: priority}
		o, certain := d.hopeless(0)
		require.Equal(t, want, certain)
		require.Equal(t, want, o.reason == noVictims)
		d.r.Options.CrossNode = &CrossNode{}
		_, certain = d.hopeless(0)
		require.False(t, certain)
	}
	for _, w := range []bounder{nil, never{}} {
		d := &dryRun{r: &Request{Cluster: l}, index: newIndex(l), priority: 6, bound: w}
		for _, known := range []bool{false, true, true} { // the first question goes unanswered
			_, certain := d.hopeless(0)
			require.Equal(t, known && w != nil, certain)
		}
	}
}
