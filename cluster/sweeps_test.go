package cluster

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// setsOf returns, for the sets of pods with a label, the number of pods by slot.
func setsOf(s *Snapshot, key, value string) (all []map[int32]int32) {
	s.PodSets("default", key, value, func(id int32) {
		if _, nodes, counts := s.PodSet(id); len(nodes) > 0 {
			all = append(all, byNode(nodes, counts))
		}
	})
	return all
}

// Sets keep their pods through many sweeps, and the ids that a sweep frees are each given once.
func TestManySweeps(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	pod := func(wave, k int) *v1.Pod {
		app := fmt.Sprintf("app=w%dk%d", wave, k)
		return testkit.Pod(fmt.Sprintf("p%d-%d", wave, k)).Labels(app).RequireApart("k", app).Obj()
	}
	kept := func(k int) bool { return k%40 == 7 }
	sweeps := 0
	for wave := range 4 {
		for k := range sweepAt + 100 {
			version := s.Version()
			require.NoError(t, s.Assume(pod(wave, k), k%2))
			if !kept(k) {
				require.NoError(t, s.Remove(pod(wave, k)))
			}
			require.True(t, s.Since(version, func(list []Event) {
				for _, e := range list {
					if e.Node == -1 {
						sweeps++
					}
				}
			}))
		}
	}
	require.Greater(t, sweeps, 3)
	for wave := range 4 {
		for k := range sweepAt + 100 {
			var want []map[int32]int32
			if kept(k) {
				want = []map[int32]int32{{int32(k % 2): 1}}
			}
			require.Equal(t, want, setsOf(s, "app", fmt.Sprintf("w%dk%d", wave, k)))
		}
	}
	ids := map[int32]bool{}
	for i := range s.Len() {
		for p := range s.Pods(i) {
			_, terms := s.PodKind(p)
			require.False(t, ids[terms], "one id for each term set")
			ids[terms] = true
		}
	}
	check(t, s)
	require.Equal(t, describe(rebuild(t, s)), describe(s))
}

// A rollback counts a pod again as before, even if the ids of its sets went to other pods meanwhile.
func TestRollbackAfterASweep(t *testing.T) {
	old := testkit.Pod("p").Labels("app=old").RequireApart("k", "app=old").On("a").Obj()
	s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{old}})
	before := describe(s)
	m := s.Mark()
	require.NoError(t, s.Set(testkit.Pod("p").Labels("app=new").On("a").Obj()))
	for k := range 2 * sweepAt {
		p := testkit.Pod("q").Labels(fmt.Sprint("app=", k)).RequireApart("k", fmt.Sprint("app=", k)).Obj()
		require.NoError(t, s.Assume(p, 1))
		require.NoError(t, s.Remove(p))
	}
	require.True(t, s.Rollback(m))
	require.Equal(t, before, describe(s))
	require.Equal(t, []map[int32]int32{{0: 1}}, setsOf(s, "app", "old"))
	require.Empty(t, setsOf(s, "app", "new"))
	check(t, s)
}

// A newer version of a pod changes saturated sums as if the older version had never been there.
func TestUpdateOfSaturatedRows(t *testing.T) {
	pod := func(name, request string) *v1.Pod { return testkit.Pod(name).Request(request).On("a").Obj() }
	s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{pod("small", "memory=1Gi,cpu=1"), pod("x", "memory=2Gi")}})
	huge := "memory=9223372036854775807,cpu=9223372036854775,example.com/gpu=3"
	for range 2 {
		require.NoError(t, s.Set(pod("x", huge)))
		require.NoError(t, s.Set(pod("y", huge)))
		require.Equal(t, int64(math.MaxInt64), s.Requested(0)[resources.Memory])
		require.Equal(t, int64(math.MaxInt64), s.Requested(0)[resources.CPU])
		require.NoError(t, s.Set(pod("y", "cpu=2")))
		require.Equal(t, int64(math.MaxInt64), s.Requested(0)[resources.Memory], "x is huge still")
		require.NoError(t, s.Set(pod("x", "memory=2Gi")))
		require.Equal(t, "cpu=3000m memory=3221225472 pods=3", s.Requested(0).Describe(s.Schema()))
		cpu, memory := s.NonZero(0)
		require.Equal(t, []int64{3100, 3<<30 + 200<<20}, []int64{cpu, memory})
		require.NoError(t, s.Remove(pod("y", "")))
	}
}

// A reader may stop before the last pod. A free slot and a slot without pods have none.
func TestReaderStopsEarly(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{testkit.Pod("x").On("a").Obj(), testkit.Pod("y").On("a").Obj()}})
	for p := range s.Pods(0) {
		require.Equal(t, "x", p.Name)
		break
	}
	require.Zero(t, podCount(s, 1))
}

// An image that no node has any more is forgotten.
func TestForgottenImages(t *testing.T) {
	s := mustNew(t, Objects{Nodes: []*v1.Node{testkit.Node("a").Image(1, "x", "x").Image(2, "x").Obj(), testkit.Node("b").Obj()}})
	size, nodes, _ := s.Image("x")
	require.Equal(t, []any{int64(1), 1}, []any{size, nodes}, "the first of a node's entries counts")
	require.NoError(t, s.Set(testkit.Node("a").Image(3, "y").Obj()))
	require.NotContains(t, s.images.byName, "x")
	require.Contains(t, s.images.byName, "y")
	require.NoError(t, s.Remove(s.Node(0)))
	require.Empty(t, s.images.byName)
}

// A newer version without a node stays on its slot, also on slot 0, and host ports that come or go are followed.
func TestUpdatesOnTheFirstSlot(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	require.NoError(t, s.Assume(testkit.Pod("x").Obj(), 0))
	for _, ports := range []int{1, 0, 1} {
		next := testkit.Pod("x")
		if ports > 0 {
			next = next.HostPort("", v1.ProtocolTCP, 80)
		}
		version, pod := s.Version(), next.Obj()
		require.NoError(t, s.Set(pod))
		require.Same(t, pod, s.Pod(pod.Namespace, "x"))
		require.Len(t, s.PortPods(0), ports)
		events := 0
		require.True(t, s.Since(version, func(list []Event) { events += len(list) }))
		require.Equal(t, 2, events, "one version leaves, the other comes")
	}
}

// A sweep of the pod sets makes the index of the pod sets again. A sweep of the term sets does not.
func TestSweepOfTermsAlone(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{testkit.Pod("kept").Labels("app=kept").On("a").Obj()}})
	lists := func() *chunk[*posting] {
		s.listSets()
		return s.postings.col.chunks[0]
	}
	list := lists()
	wave := func(label func(k int) string, terms bool) {
		for k := range 2 * sweepAt {
			p := testkit.Pod("p").Labels(label(k))
			if terms {
				p = p.RequireApart("k", fmt.Sprint("app=", k))
			}
			require.NoError(t, s.Assume(p.Obj(), 0))
			require.NoError(t, s.Remove(p.Obj()))
		}
	}
	wave(func(int) string { return "app=one" }, true)
	require.Equal(t, sweepAt, s.terms.n, "ids of term sets were freed when so many were idle, and used again")
	require.Same(t, list, lists())
	wave(func(k int) string { return fmt.Sprint("app=", k) }, false)
	require.NotSame(t, list, lists())
	require.Equal(t, []map[int32]int32{{0: 1}}, setsOf(s, "app", "kept"))
}

// A class keeps its representative while that node is in the class, so that a change of another node costs nothing more.
func TestRepresentativeStays(t *testing.T) {
	node := func(name, zone string) *v1.Node { return testkit.Node(name).Zone(zone).Obj() }
	s := mustNew(t, Objects{Nodes: []*v1.Node{node("a", "z"), node("b", "z"), node("c", "z")}})
	reps := func() []int32 {
		_, reps, ok := s.Classes([]string{"label:" + v1.LabelTopologyZone})
		require.True(t, ok)
		return slices.Clone(reps)
	}
	require.Equal(t, []int32{0}, reps())
	require.NoError(t, s.Set(node("a", "y")))
	require.Equal(t, []int32{1, 0}, reps(), "b is the next node of z")
	require.NoError(t, s.Set(node("a", "z")))
	require.Equal(t, []int32{1}, reps())
	require.NoError(t, s.Set(node("c", "y")))
	require.Equal(t, []int32{1, 2}, reps())
}

// A snapshot with more term sets in use than sweepAt keeps as many idle ones before it frees their ids.
func TestSweepOfManyGroups(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	pod := func(k int) *v1.Pod {
		return testkit.Pod(fmt.Sprint("p", k)).RequireApart("k", fmt.Sprint("app=", k)).Obj()
	}
	const used = sweepAt + 200
	for k := range used {
		require.NoError(t, s.Assume(pod(k), 0))
	}
	for k := range 2 * used {
		require.NoError(t, s.Assume(pod(used+k), 0))
		require.NoError(t, s.Remove(pod(used+k)))
	}
	require.Equal(t, 2*used, s.terms.n)
}
