package placement

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/score"
)

// The rejections of many nodes share memory, which is made for 256 of them at once, and for one node with more.
func TestRejectionsShareMemory(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	var many Profile
	for range 2 {
		many.Filters = append(many.Filters, &Plugin{Name: "Shy", Filter: func(*v1.Pod, Cluster) PreFiltered { return PreFiltered{Predicate: shy{}} }})
	}
	e := (&Plan{cluster: s, profile: many}).prepareAll(testkit.Pod("p").Obj())
	for n := 1; n <= 256/2; n++ {
		require.Len(t, e.rejections(0), 2)
		require.Len(t, e.slab, 2*n)
	}
	require.Len(t, e.rejections(0), 2)
	require.Len(t, e.slab, 2)
	for range 300 {
		e.Predicates = append(e.Predicates, shy{})
	}
	require.Len(t, e.rejections(0), 302)
	require.Equal(t, 302, cap(e.slab))
}

// A verdict that names all its reasons is put into words once for all nodes.
func TestTextsAreShared(t *testing.T) {
	p, _ := planOf(t, cluster.Objects{Nodes: threeZones()})
	e := p.prepareAll(testkit.Pod("p").Request("cpu=9").Obj())
	for i := range 5 {
		require.Len(t, e.rejections(i), 1)
		require.Len(t, e.texts, 1)
	}
}

// When a score fails, Choice and Table return its error.
func TestChoiceOfAFailedScore(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	broken := errors.New("broken")
	p, err := New(s, Profile{Scores: []Weighted{{Plugin: &Plugin{Name: "Broken", Score: func(*v1.Pod, Cluster) (Scorer, error) { return nil, broken }}}}})
	require.NoError(t, err)
	why, err := p.Choice(testkit.Pod("p").Obj(), 0)
	require.ErrorIs(t, err, broken)
	require.Equal(t, score.Explanation{}, why)
	_, err = p.Table(testkit.Pod("p").Obj())
	require.ErrorIs(t, err, broken)
}

// A pod that was taken away for the time of a question is not named in the answer. When it is back, it is named again.
func TestNamesOfAPodThatIsBack(t *testing.T) {
	q := testkit.Pod("q").Labels("app=x").On("a1").Obj()
	p, s := planOf(t, cluster.Objects{Nodes: threeZones(), Pods: []*v1.Pod{q, testkit.Pod("r").Labels("app=x").On("a2").Obj()}})
	for _, a := range p.Prepare(testkit.Pod("p").RequireApart(v1.LabelTopologyZone, "app=x").Obj()).Predicates {
		x, ok := a.(podAffinity)
		if !ok {
			continue
		}
		i := s.Slot("a1")
		x.Remove(q, i)
		require.Equal(t, []string{"topology.kubernetes.io/zone=a: the pod's anti-affinity rejects default/r"}, x.Numbers(i))
		x.Add(q, i)
		require.Equal(t, []string{"topology.kubernetes.io/zone=a: the pod's anti-affinity rejects default/q, default/r"}, x.Numbers(i))
		return
	}
	require.Fail(t, "InterPodAffinity looks at no node")
}

// A plan that has decided nothing has no failed attempt.
func TestNoFailedAttempt(t *testing.T) {
	p, _ := planOf(t, cluster.Objects{Nodes: threeZones()})
	require.Nil(t, p.Failed(nil))
	require.Nil(t, p.Failed(&Failure{}))
}
