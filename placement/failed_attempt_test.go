package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// coded is a filter that gives nodes a code by their label "code".
type coded struct {
	c     Cluster
	codes []filter.Code
}

func (coded) Name() string { return "Coded" }
func (p coded) Check(i int) resources.Verdict {
	for k, code := range p.codes {
		if p.c.Node(i).Labels["code"] == code.String() {
			return resources.Verdict(k + 1)
		}
	}
	return 0
}
func (p coded) Code(v resources.Verdict) filter.Code { return p.codes[v-1] }
func (p coded) Reasons(v resources.Verdict) []string { return []string{p.codes[v-1].String()} }

// codedPlan has a node for each code, two without one, and a free slot.
func codedPlan(t *testing.T, pre filter.Code) (*Plan, *cluster.Snapshot) {
	codes := []filter.Code{filter.Unschedulable, filter.UnschedulableAndUnresolvable, filter.Pending}
	var o cluster.Objects
	for _, code := range codes {
		o.Nodes = append(o.Nodes, testkit.Node(code.String()).Label("code", code.String()).Obj())
	}
	o.Nodes = append(o.Nodes, testkit.Node("gone").Obj(), testkit.Node("none").Obj(), testkit.Node("left-out").Label("code", "Unschedulable").Obj())
	s, err := cluster.New(o)
	require.NoError(t, err)
	require.NoError(t, s.Remove(s.Node(3)))
	p, err := New(s, Profile{Filters: []*Plugin{{Name: "Coded", Filter: func(pod *v1.Pod, c Cluster) PreFiltered {
		f := PreFiltered{Code: pre, Predicate: coded{c, codes}, Nodes: []string{codes[0].String(), codes[1].String(), codes[2].String(), "none"}}
		if pre != filter.Success {
			f.Reasons = []string{"no"}
		}
		return f
	}}}})
	require.NoError(t, err)
	return p, s
}

// What each rejection means to preemption, by slot: free slots and nodes that a plugin left out cannot be helped.
func TestRejectionsForPreemption(t *testing.T) {
	p, s := codedPlan(t, filter.Success)
	want := []preemption.Rejection{preemption.Resolvable, preemption.Unresolvable, preemption.Failed, preemption.Unresolvable, preemption.Fits, preemption.Unresolvable}
	pod := testkit.Pod("p").Obj()
	require.Len(t, p.Rejections(pod, 0), 1)
	rejecting, _ := codedPlan(t, filter.Unschedulable)
	require.Equal(t, []Rejection{{Plugin: "Coded", Code: "Unschedulable", Reasons: []string{"no"}}}, rejecting.Rejections(pod, 0), "a filter that rejects the pod is not asked about nodes")
	a := p.Prepare(pod)
	before := []preemption.Rejection{preemption.Failed}
	require.Equal(t, append(before, want...), a.Rejections(before, Options{}))
	verdicts := a.Verdicts([]filter.Rejection{{Predicate: 7}}, Options{})
	require.Equal(t, []filter.Rejection{{Predicate: 7}, {Verdict: 1}, {Verdict: 2}, {Verdict: 3}, NotAsked(), {}, NotAsked()}, verdicts)

	// A failed decision leaves the same to preemption, whether the nominated node was among the others or not.
	require.NoError(t, s.Set(testkit.Node("none").Label("code", "Unschedulable").Obj()))
	want[4] = preemption.Resolvable
	for _, nominated := range []string{"", "none", "left-out", "gone"} {
		pod.Status.NominatedNodeName = nominated
		d := p.Decide(pod, Options{})
		require.False(t, d.Placed())
		failed := p.Failed(d.Failure)
		require.NotNil(t, failed)
		require.Equal(t, want, failed.Rejections(nil, Options{}), nominated)
		require.Equal(t, []filter.Rejection{{Verdict: 1}, {Verdict: 2}, {Verdict: 3}, NotAsked(), {Verdict: 1}, NotAsked()}, failed.Verdicts(nil, Options{}), nominated)
		require.Nil(t, p.Failed(nil))
	}
	for code, all := range map[filter.Code]preemption.Rejection{
		filter.Unschedulable: preemption.Resolvable, filter.UnschedulableAndUnresolvable: preemption.Unresolvable, filter.Error: preemption.Failed,
	} {
		p, s := codedPlan(t, code)
		a := p.Prepare(testkit.Pod("p").Obj())
		require.Len(t, a.Rejections(nil, Options{}), s.Len())
		for i, r := range a.Rejections(nil, Options{}) {
			require.Equal(t, all, r, code.String())
			require.Equal(t, NotAsked(), a.Verdicts(nil, Options{})[i])
		}
	}
}

// What an extender rejected counts where no filter rejected the node, and nowhere else.
func TestRejectedByAnExtender(t *testing.T) {
	p, s := planOf(t, cluster.Objects{Nodes: threeZones(), Pods: []*v1.Pod{
		testkit.Pod("a").Request("cpu=1").On("a1").Obj(), testkit.Pod("b").Request("cpu=4").On("b1").Obj(), testkit.Pod("c").Request("cpu=3").On("c1").Obj(),
	}})
	require.NoError(t, s.Set(testkit.Node("a2").Capacity("cpu=1").Obj()))
	pod := testkit.Pod("p").Priority(10).Request("cpu=2").NodeSelector(v1.LabelTopologyZone + "=b").Obj()
	slot := func(name string) int { return s.Slot(name) }
	type test struct {
		name, why string
		by        map[int]preemption.Rejection
		tried     int
		node      string
	}
	testkit.Run(t, []test{
		{"nothing", "b1 is full", nil, 1, "b1"},
		{"a node that fits", "b2 fits and has no victims", map[int]preemption.Rejection{slot("b2"): preemption.Resolvable}, 2, "b1"},
		{"a node that a filter rejected", "the filter's word stays", map[int]preemption.Rejection{slot("b1"): preemption.Unresolvable, slot("a1"): preemption.Resolvable}, 1, "b1"},
		{"no such node", "it is ignored", map[int]preemption.Rejection{-1: preemption.Resolvable, s.Len(): preemption.Resolvable, 1 << 20: preemption.Resolvable}, 1, "b1"},
	}, func(t *testing.T, c test) {
		for range 2 {
			r := p.Preempt(pod, nil, Options{}, PreemptOptions{Rejected: c.by})
			require.Equal(t, c.node, r.Node)
			require.Equal(t, c.tried, r.Tried)
		}
	})
}

// Kept rejections are right for the same filters in the same order alone.
func TestSameFilters(t *testing.T) {
	list := func(names ...string) (out filter.Predicates) {
		for _, n := range names {
			out = append(out, nothing{n})
		}
		return out
	}
	x := &preemptor{plugins: []string{"a", "b"}}
	require.True(t, x.sameFilters(list("a", "b")))
	for _, other := range []filter.Predicates{list(), list("a"), list("b", "a"), list("a", "c"), list("c", "b"), list("a", "b", "c")} {
		require.False(t, x.sameFilters(other))
	}
	require.True(t, (&preemptor{}).sameFilters(nil))
}

type nothing struct{ name string }

func (n nothing) Name() string                     { return n.name }
func (nothing) Check(int) resources.Verdict        { return 0 }
func (nothing) Reasons(resources.Verdict) []string { return nil }
