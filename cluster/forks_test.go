package cluster

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// What a fork changes in place, the snapshot keeps: the pods of a node that hold ports, the nodes of a set of pods, the values
// of a label, and the node that stands for a class.
func TestForksChangeTheirOwnLists(t *testing.T) {
	port := func(name string, number int32) *v1.Pod {
		return testkit.Pod(name).HostPort("", "TCP", number).On("a").Obj()
	}
	web := func(name, node string) *v1.Pod { return testkit.Pod(name).Labels("app=web").On(node).Obj() }
	first, second := port("p1", 80), port("p2", 81)
	s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{first, second, web("w1", "a"), web("w2", "b")}})
	ids, domains, have := s.Domains(v1.LabelTopologyZone)
	require.Equal(t, []any{[]int32{0, 1}, 2, 2}, []any{ids, domains, have})
	read := []string{"label:" + v1.LabelTopologyZone}
	_, reps, _ := s.Classes(read)
	require.Equal(t, []int32{0, 1}, reps)

	f := s.Fork()
	require.NoError(t, f.Remove(first))
	require.NoError(t, f.Remove(web("w1", "a")))
	require.NoError(t, f.Set(testkit.Node("a").Zone("z2").Obj()))

	require.Equal(t, []*v1.Pod{second}, f.PortPods(0))
	require.Equal(t, []*v1.Pod{first, second}, s.PortPods(0))
	nodes := func(s *Snapshot) (out []int32) {
		s.PodSets("default", "app", "web", func(id int32) {
			_, out, _ = s.PodSet(id)
		})
		return out
	}
	require.Equal(t, []int32{1}, nodes(f))
	require.Equal(t, []int32{0, 1}, nodes(s))
	_, reps, _ = f.Classes(read)
	require.Equal(t, []int32{1}, reps)
	_, reps, _ = s.Classes(read)
	require.Equal(t, []int32{0, 1}, reps)
	require.NoError(t, s.Set(testkit.Node("a").Zone("z2").Obj()))
	ids, domains, have = s.Domains(v1.LabelTopologyZone)
	require.Equal(t, []any{[]int32{0, 0}, 1, 2}, []any{ids, domains, have}, "both nodes are in one zone now")
}

// After a node has moved to another zone and back by Rollback, it has its old place in the scan order, also for the nodes that come later.
func TestRollbackOfAZone(t *testing.T) {
	s := mustNew(t, Objects{Nodes: append(two(), testkit.Node("c").Zone("z1").Obj())})
	require.Equal(t, []int32{0, 1, 2}, s.Order())
	m := s.Mark()
	require.NoError(t, s.Set(testkit.Node("a").Zone("z2").Obj()))
	require.True(t, s.Rollback(m))
	require.NoError(t, s.Set(testkit.Node("d").Zone("z2").Obj()))
	require.Equal(t, []int32{0, 1, 2, 3}, s.Order())

	require.NoError(t, s.Set(testkit.Node("a").Zone("z2").Obj()))
	require.Equal(t, []int32{0, 1, 2, 3}, s.Order(), "a node that moves has its new place when a node comes or goes")
	m = s.Mark()
	require.NoError(t, s.Remove(s.Node(3)))
	require.Equal(t, []int32{2, 1, 0}, s.Order(), "c of z1, b and a of z2")
	require.True(t, s.Rollback(m))
	require.Equal(t, []int32{0, 1, 2, 3}, s.Order(), "nothing came or went")
}

// What leaves a node in a fork stays on the node of the snapshot: its pods in their order, the terms of its pods, and how many pods of a set it has.
func TestForksCountTheirOwnPods(t *testing.T) {
	web := func(name, node string) *v1.Pod {
		return testkit.Pod(name).Labels("app=web").Request("cpu=1").On(node).Obj()
	}
	apart := func(name, app string) *v1.Pod {
		return testkit.Pod(name).Labels("own="+app).RequireApart(v1.LabelHostname, "app="+app).On("a").Obj()
	}
	pods := []*v1.Pod{web("w1", "a"), web("w2", "a"), web("w3", "b"), apart("t1", "x"), apart("t2", "y"), apart("t3", "z")}
	s := mustNew(t, Objects{Nodes: two(), Pods: pods})
	f := s.Fork()
	for _, p := range []*v1.Pod{pods[0], pods[3]} {
		require.NoError(t, f.Remove(p))
	}
	counts := func(s *Snapshot) map[int32]int32 {
		out := map[int32]int32{}
		s.PodSets("default", "app", "web", func(id int32) {
			_, nodes, counts := s.PodSet(id)
			for k, i := range nodes {
				out[i] = counts[k]
			}
		})
		return out
	}
	require.Equal(t, map[int32]int32{0: 1, 1: 1}, counts(f))
	require.Equal(t, map[int32]int32{0: 2, 1: 1}, counts(s))
	require.Equal(t, []int64{1000, 2000}, []int64{f.Requested(0).At(resources.CPU), s.Requested(0).At(resources.CPU)})
	require.Equal(t, []*v1.Pod{pods[0], pods[1], pods[3], pods[4], pods[5]}, slices.Collect(s.Pods(0)))
	for _, p := range pods[3:] { // the snapshot still knows where each term is counted
		require.NoError(t, s.Remove(p))
	}
	for id := range int32(s.TermSets()) {
		_, nodes, _ := s.TermSet(id)
		require.Empty(t, nodes)
	}
	for id := range int32(f.TermSets()) {
		rep, nodes, _ := f.TermSet(id)
		if len(nodes) > 0 {
			require.Contains(t, []string{"t2", "t3"}, rep.Name)
		}
	}
}
