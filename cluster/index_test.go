package cluster

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// When many pod sets have no pods, the snapshot gives their ids to other sets and logs an event for readers.
func TestIdleSetsAreSwept(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	keep := testkit.Pod("keep").Labels("app=keep").RequireApart("k", "app=keep").Obj()
	info := s.prepare(keep)
	require.NoError(t, assumePrepared(s, info, keep, 1))
	idle := s.prepare(testkit.Pod("idle").Labels("app=idle").Obj())
	told := 0
	for i := range 5_000 {
		v := s.Version()
		p := testkit.Pod("p").Labels(fmt.Sprintf("app=a%d", i)).RequireApart("k", fmt.Sprintf("app=a%d", i)).Obj()
		require.NoError(t, s.Assume(p, 0))
		require.NoError(t, s.Remove(p))
		require.True(t, s.Since(v, func(list []Event) {
			for _, e := range list {
				if e.Node == -1 {
					told++
				}
			}
		}))
	}
	require.Less(t, s.TermSets(), 1100, "ids are reused")
	require.Less(t, s.sets.n, 1100)
	require.Positive(t, told)
	require.Equal(t, info.set, s.prepare(keep).set, "sets with pods keep their id")
	require.Equal(t, info.terms, s.prepare(keep).terms)

	pod := testkit.Pod("idle").Labels("app=idle").Obj()
	require.NoError(t, assumePrepared(s, idle, pod, 0), "a stale Info is worked out again")
	found := 0
	s.PodSets("default", "app", "idle", func(id int32) {
		rep, nodes, counts := s.PodSet(id)
		require.Equal(t, pod.Labels, rep.Labels)
		require.Equal(t, []int32{0}, nodes)
		require.Equal(t, []int32{1}, counts)
		found++
	})
	require.Equal(t, 1, found)
	check(t, s)
}

func TestDomainsKeepTheirNumbers(t *testing.T) {
	s := mustNew(t, Objects{Nodes: []*v1.Node{
		testkit.Node("a").Zone("z1").Obj(), testkit.Node("b").Zone("z2").Obj(), testkit.Node("c").Zone("z2").Obj(), testkit.Node("d").Obj(),
		testkit.Node("e").Zone("z2").Obj(),
	}})
	ids, n, have := s.Domains(v1.LabelTopologyZone)
	require.Equal(t, []int32{0, 1, 1, -1, 1}, ids)
	require.Equal(t, []int{2, 4}, []int{n, have})
	old := slices.Clone(ids)

	restart := func(change func()) bool {
		v, seen := s.Version(), false
		change()
		require.True(t, s.Since(v, func(list []Event) {
			for _, e := range list {
				seen = seen || e.Node == -1
			}
		}))
		return seen
	}
	require.False(t, restart(func() { require.NoError(t, s.Set(testkit.Node("c").Zone("z3").Obj())) }), "no value lost its last node")
	now, n, _ := s.Domains(v1.LabelTopologyZone)
	require.Equal(t, []int32{0, 1, 2, -1, 1}, now)
	require.Equal(t, 3, n)
	require.Equal(t, old, ids, "a list that was returned stays")

	require.False(t, restart(func() { require.NoError(t, s.Set(testkit.Node("d").Zone("z2").Obj())) }), "a node comes to a zone that has nodes")
	require.False(t, restart(func() { require.NoError(t, s.Set(testkit.Node("d").Obj())) }), "a node leaves a zone that keeps nodes")

	require.True(t, restart(func() { require.NoError(t, s.removeNode("e")) }), "from now on each node has a zone of its own")
	require.False(t, restart(func() { require.NoError(t, s.removeNode("a")) }), "each node had a zone of its own, and has")
	require.NoError(t, s.Set(testkit.Node("d").Zone("z2").Obj()))
	require.True(t, restart(func() { require.NoError(t, s.Set(testkit.Node("c").Obj())) }), "zone z3 is gone, z2 has two nodes")
	now, n, have = s.Domains(v1.LabelTopologyZone)
	require.Equal(t, []int32{-1, 0, -1, 0, -1}, now)
	require.Equal(t, []int{1, 2}, []int{n, have})
}

// Questions about many labels do not drop the classes, whose number alone is limited.
func TestClassesBesideManyLabels(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	ids, _, ok := s.Classes([]string{"name"})
	require.True(t, ok)
	for i := range 2 * maxClasses {
		s.Domains(fmt.Sprint("k", i))
	}
	again, _, _ := s.Classes([]string{"name"})
	require.Same(t, &ids[0], &again[0], "the classes are the same list still")
	require.Len(t, s.indexes, 2*maxClasses+1)
}

// Of many reads each one divides: nodes that differ in the value of one label, or in whether they have it, are of different classes.
func TestClassesOfManyReads(t *testing.T) {
	var reads []string
	for k := range manyReads {
		reads = append(reads, fmt.Sprint("label:k", k))
	}
	node := func(name, key, value string) *v1.Node {
		return testkit.Node(name).Label("k3", "x").Label(key, value).Obj()
	}
	s := mustNew(t, Objects{Nodes: []*v1.Node{node("a", "k5", "1"), node("b", "k5", "2"), node("c", "k6", "1"), node("d", "k5", "1"), node("e", "other", "1"), testkit.Node("f").Obj()}})
	ids, _, ok := s.Classes(append(reads, "unschedulable"))
	require.True(t, ok)
	require.Equal(t, []int32{0, 1, 2, 0, 3, 4}, ids)
}

func TestClassesOfUnknownReads(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	_, _, ok := s.Classes([]string{"taints", "weather"})
	require.False(t, ok)
	for i := range 3 * maxClasses { // more lists than the snapshot keeps
		ids, reps, ok := s.Classes([]string{fmt.Sprintf("label:k%d", i), "name"})
		require.True(t, ok)
		require.Equal(t, []int32{0, 1}, ids)
		require.Equal(t, []int32{0, 1}, reps)
	}
	require.LessOrEqual(t, len(s.indexes), maxClasses)
}

// Examples of the zone-interleaved order.
func TestOrder(t *testing.T) {
	node := func(name string, labels ...string) *v1.Node {
		b := testkit.Node(name)
		for i := 0; i < len(labels); i += 2 {
			b = b.Label(labels[i], labels[i+1])
		}
		return b.Obj()
	}
	zoned := func(list ...string) (nodes []*v1.Node) { // "a1" is node a1 of zone a
		for _, name := range list {
			nodes = append(nodes, testkit.Node(name).Zone(name[:1]).Obj())
		}
		return nodes
	}
	const beta, region = v1.LabelFailureDomainBetaZone, v1.LabelTopologyRegion
	type test struct {
		name  string
		nodes []*v1.Node
		want  string
	}
	testkit.Run(t, []test{
		{"four and two", zoned("a1", "a2", "a3", "a4", "b5", "b6"), "[a1 b5 a2 b6 a3 a4]"},
		{"uneven zones", zoned("a1", "a2", "a3", "b1", "c1", "c2"), "[a1 b1 c1 a2 c2 a3]"},
		{"regions", []*v1.Node{
			node("x1", region, "r1", v1.LabelTopologyZone, "z"), node("x2", region, "r1", v1.LabelTopologyZone, "z"),
			node("y1", region, "r2", v1.LabelTopologyZone, "z"), node("y2", region, "r2", v1.LabelTopologyZone, "z"),
			node("u1"), node("u2"), node("w1", region, "r1"),
		}, "[x1 y1 u1 w1 x2 y2 u2]"},
		{"beta label first", []*v1.Node{
			node("b1", v1.LabelTopologyZone, "B"), node("b2", beta, "B", v1.LabelTopologyZone, "A"), node("a1", v1.LabelTopologyZone, "A"),
		}, "[b1 a1 b2]"},
		{"empty beta label", []*v1.Node{
			node("u1"), node("u2", beta, "", v1.LabelTopologyZone, "A"), node("a1", v1.LabelTopologyZone, "A"),
		}, "[u1 a1 u2]"},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, orderOf(mustNew(t, Objects{Nodes: c.nodes})))
	})
	t.Run("nodes come and go", func(t *testing.T) {
		s := mustNew(t, Objects{Nodes: zoned("a1", "a2", "a3", "b1", "c1", "c2")})
		add := func(name string) {
			err := s.Set(zoned(name)[0])
			require.NoError(t, err)
		}
		add("b2")
		require.Equal(t, "[a1 b1 c1 a2 b2 c2 a3]", orderOf(s))
		require.NoError(t, s.removeNode("a1"))
		require.Equal(t, "[a2 b1 c1 a3 b2 c2]", orderOf(s))
		require.NoError(t, s.removeNode("b1"))
		require.NoError(t, s.removeNode("b2"))
		require.Equal(t, "[a2 c1 a3 c2]", orderOf(s))
		add("b3")
		require.Equal(t, "[a2 c1 b3 a3 c2]", orderOf(s), "a zone that comes back is the last")
		m := s.Mark()
		require.NoError(t, s.Set(testkit.Node("a2").Zone("c").Obj()))
		require.Equal(t, "[a2 c1 b3 a3 c2]", orderOf(s), "a change of zone does not show at once")
		add("d1")
		require.Equal(t, "[a3 c1 b3 d1 c2 a2]", orderOf(s), "but with the next node")
		require.True(t, s.Rollback(m))
		require.Equal(t, "[a2 c1 b3 a3 c2]", orderOf(s))
	})
}

func orderOf(s *Snapshot) string {
	var names []string
	for _, i := range s.Order() {
		names = append(names, s.Node(int(i)).Name)
	}
	return fmt.Sprint(names)
}

func TestImages(t *testing.T) {
	s := mustNew(t, Objects{Nodes: []*v1.Node{
		testkit.Node("a").Image(10, "x:1", "x@sha").Obj(), testkit.Node("b").Image(20, "x:1", "x:1").Image(30, "x:1").Obj(),
	}})
	size, n, has := s.Image("x:1")
	require.Equal(t, []any{int64(10), 2, true, true}, []any{size, n, has(0), has(1)}, "the size is that of the lowest slot")
	require.NoError(t, s.Set(testkit.Node("a").Obj()))
	require.True(t, has(0), "what was returned describes the nodes of then")
	size, n, has = s.Image("x:1")
	require.Equal(t, []any{int64(20), 1, false, true}, []any{size, n, has(0), has(1)})
	_, n, has = s.Image("x@sha")
	require.Equal(t, []any{0, false}, []any{n, has(0)})
}

// The index of images knows every node of a large cluster, counts a node once that lists a name twice, and follows nodes.
func TestImagesOfManyNodes(t *testing.T) {
	var o Objects
	for k := range 200 {
		n := testkit.Node(fmt.Sprintf("n%d", k))
		if k%3 == 0 {
			n = n.Image(int64(1000+k), "x", "y")
		}
		if k == 0 {
			n = n.Image(7, "x")
		}
		o.Nodes = append(o.Nodes, n.Obj())
	}
	s := mustNew(t, o)
	hold := func(name string, size int64, listed func(k int) bool) {
		t.Helper()
		got, nodes, has := s.Image(name)
		want := 0
		for k := range s.Len() {
			if listed(k) {
				want++
			}
			require.Equal(t, listed(k), has(k), "%s on slot %d", name, k)
		}
		require.Equal(t, want, nodes)
		require.Equal(t, size, got)
	}
	third := func(k int) bool { return k%3 == 0 }
	hold("x", 1000, third)
	hold("y", 1000, third)
	hold("z", 0, func(int) bool { return false })
	require.NoError(t, s.Set(testkit.Node("n0").Image(5, "z").Obj()))
	hold("x", 1003, func(k int) bool { return k > 0 && third(k) })
	hold("z", 5, func(k int) bool { return k == 0 })
	require.NoError(t, s.Set(testkit.Node("n64").Image(8, "z").Obj()))
	require.NoError(t, s.Remove(s.Node(3)))
	hold("x", 1006, func(k int) bool { return k > 3 && third(k) })
	hold("z", 5, func(k int) bool { return k == 0 || k == 64 })
	require.NoError(t, s.Remove(s.Node(0)))
	hold("z", 8, func(k int) bool { return k == 64 })
	require.NoError(t, s.Remove(s.Node(64)))
	hold("z", 0, func(int) bool { return false })
}

// A free slot has no value of a label and no class, also when the first question comes after the node has gone.
func TestFreeSlotsHaveNoValues(t *testing.T) {
	s := mustNew(t, Objects{Nodes: []*v1.Node{testkit.Node("a").Zone("z").Obj(), testkit.Node("b").Zone("z").Obj(), testkit.Node("c").Obj()}})
	require.NoError(t, s.Remove(testkit.Node("a").Obj()))
	ids, domains, have := s.Domains(v1.LabelTopologyZone)
	require.Equal(t, []int32{-1, 0, -1}, ids)
	require.Equal(t, []int{1, 1}, []int{domains, have})
	ids, reps, ok := s.Classes([]string{"name"})
	require.True(t, ok)
	require.Equal(t, []int32{-1, 0, 1}, ids)
	require.Equal(t, []int32{1, 2}, reps)
}
