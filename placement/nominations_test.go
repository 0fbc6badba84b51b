package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// A nomination makes a plan ask node by node only where it decides about the node. Elsewhere kept work serves the pod. A pod is
// prepared at most once, and only when a nomination matters to it.
func TestNominationsAndKeptWork(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones(), Pods: []*v1.Pod{testkit.Pod("full").Request("cpu=4").On("b2").Obj()}})
	require.NoError(t, err)
	vip := func(name, cpu string) *v1.Pod { return testkit.Pod(name).Priority(10).Request("cpu=" + cpu).Obj() }
	at := func(pod *v1.Pod, nodes ...string) func(i int) []*v1.Pod {
		return func(i int) []*v1.Pod {
			for _, n := range nodes {
				if s.Slot(n) == i {
					return []*v1.Pod{pod}
				}
			}
			return nil
		}
	}
	all := []string{"a1", "a2", "b1", "b2", "c1"}
	conflict := []v1.NodeSelectorRequirement{
		{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"a1"}}, {Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"b1"}},
	}
	rejected := func(b testkit.PodBuilder) testkit.PodBuilder {
		return b.RequireNodes(v1.NodeSelectorTerm{MatchFields: conflict})
	}
	same := func(b testkit.PodBuilder) testkit.PodBuilder { return b }
	type test struct {
		name, why string
		change    func(testkit.PodBuilder) testkit.PodBuilder
		own       string // the node to which the pod is nominated
		others    func(i int) []*v1.Pod
		node      string
		prepared  int
		kept      bool
	}
	testkit.Run(t, []test{
		{"none", "nothing is nominated", same, "", nil, "a1", 0, true},
		{"unknown node", "the nomination is as if there were none", same, "gone", nil, "a1", 0, true},
		{"own node fits", "the pod goes there", same, "b1", nil, "b1", 1, false},
		{"own node is full", "the other nodes are left", same, "b2", nil, "a1", 1, true},
		{"rejected before any node", "no node is asked", rejected, "b1", nil, "", 1, false},
		{"no others", "no node has nominated pods", same, "", at(nil), "a1", 0, true},
		{"the pod itself", "a pod is not in its own way", same, "", at(testkit.Pod("p").Priority(10).Request("cpu=4").Obj(), all...), "a1", 0, true},
		{"others of lower priority", "they do not count", same, "", at(testkit.Pod("low").Priority(-1).Request("cpu=4").Obj(), all...), "a1", 0, true},
		{"others that fit as well", "every node is feasible", same, "", at(vip("vip", "1"), all...), "a1", 1, true},
		{"others in the way", "the node is left out", same, "", at(vip("vip", "4"), "a1", "c1"), "b1", 1, true},
		{"others on a full node", "the node is not feasible anyway", same, "", at(vip("vip", "4"), "b2"), "a1", 1, true},
		{"others everywhere", "no node is left: the reasons are asked for node by node", same, "", at(vip("vip", "4"), all...), "", 1, false},
		{"others and own node", "the own node is kept for another pod", same, "b1", at(vip("vip", "4"), "b1"), "a1", 1, true},
		{"others and a rejected pod", "no node is asked", rejected, "", at(vip("vip", "1"), "a1"), "", 1, false},
	}, func(t *testing.T, c test) {
		calls := asked{}
		p, err := New(s, calls.profile())
		require.NoError(t, err)
		pod := c.change(testkit.Pod("p").Request("cpu=3")).Obj()
		for range 3 {
			p.Decide(pod, Options{})
		}
		pod.Status.NominatedNodeName = c.own
		o := Options{Nominated: c.others}
		clear(calls)
		a, _, ok := p.kept(pod, o, 5)
		require.Equal(t, c.kept, ok)
		require.Equal(t, calls["NodeName filter"] > 0, a != nil)
		clear(calls)
		d := p.Decide(pod, o)
		require.Equal(t, c.node, d.Node)
		require.Equal(t, c.prepared, calls["NodeName filter"])
		slow, err := New(s, DefaultProfile())
		require.NoError(t, err)
		slow.engine = nil
		require.Equal(t, text(slow.Decide(pod, o)), text(d))
	})
}

// tried is a filter that counts how often it is copied for a what-if.
type tried struct {
	nothing
	copies *int
}

func (c tried) NewTrial() filter.Trial {
	*c.copies++
	return triedCopy{}
}

type triedCopy struct{ filter.Trial }

func (triedCopy) Check(int) resources.Verdict { return 0 }
func (triedCopy) Add(*v1.Pod, int)            {}
func (triedCopy) Remove(*v1.Pod, int)         {}
func (triedCopy) Reset()                      {}

// One copy of each filter serves all nodes with nominated pods, and none is made without such pods.
func TestOneCopyForAllNominations(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	copies := 0
	p, err := New(s, Profile{Filters: []*Plugin{{Name: "Tried", Filter: func(*v1.Pod, Cluster) PreFiltered { return PreFiltered{Predicate: tried{nothing{"Tried"}, &copies}} }}}, Scores: DefaultProfile().Scores})
	require.NoError(t, err)
	vip := []*v1.Pod{testkit.Pod("vip").Priority(10).Obj()}
	for _, nominated := range [][]*v1.Pod{nil, vip} {
		d := p.Decide(testkit.Pod("p").Obj(), Options{Nominated: func(int) []*v1.Pod { return nominated }})
		require.Equal(t, 5, d.Feasible)
		require.Equal(t, len(nominated), copies)
	}
}
