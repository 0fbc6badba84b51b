package packing

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

// A member of a gang that lacks others has a node and does not count. Counting changes nothing.
func TestCounted(t *testing.T) {
	minimum, name := int32(2), "g"
	g := &podgroup.Group{Spec: podgroup.Spec{Minimum: &minimum}}
	g.Namespace, g.Name = "default", name
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=4").Obj()}, PodGroups: []*podgroup.Group{g}})
	require.NoError(t, err)
	in := Input{Snapshot: s, Now: testkit.Epoch}
	for _, name := range []string{"a", "b"} {
		p := testkit.Pod(name).Request("cpu=1").Obj()
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &g.Name}
		in.Pending = append(in.Pending, p)
	}
	profile, queue, err := in.check(Options{})
	require.NoError(t, err)
	m := newModel(&in, profile, queue, &podgroup.Gates{})
	m.put(0, 0)
	for range 2 {
		require.Equal(t, []int{0}, m.counted())
		require.Equal(t, []int{1}, m.placed)
	}
	m.put(1, 0)
	require.Equal(t, []int{2}, m.counted())
}

// The pods of a unit that has left come home together when their tier settles, if each fits there.
func TestRejoin(t *testing.T) {
	type test struct {
		name     string
		tier     int
		full     bool
		together bool
	}
	testkit.Run(t, []test{
		{"the tier of the others", 0, false, false},
		{"its tier", 1, false, true},
		{"n3 is full", 1, true, false},
	}, func(t *testing.T, c test) {
		g := &podgroup.Group{}
		g.Namespace, g.Name, g.DisruptAll, g.Priority = "default", "all", true, new(int32(0))
		o := cluster.Objects{PodGroups: []*podgroup.Group{g}}
		for k := range 4 {
			o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprint("n", k)).Capacity("cpu=4").Obj())
		}
		for k, on := range []string{"n2", "n3"} {
			p := testkit.Pod(fmt.Sprint("u", k)).Request("cpu=3").On(on).Obj()
			p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &g.Name}
			o.Pods = append(o.Pods, p)
		}
		in := Input{Now: testkit.Epoch, Pending: []*v1.Pod{testkit.Pod("high").Priority(9).Request("cpu=3").Obj()}}
		var err error
		in.Snapshot, err = cluster.New(o)
		require.NoError(t, err)
		profile, queue, err := in.check(Options{})
		require.NoError(t, err)
		s := &search{model: newModel(&in, profile, queue, &podgroup.Gates{})}
		require.Len(t, s.bonds.units, 1)
		u := s.bonds.units[0]
		require.Equal(t, []int{1, 1}, []int{s.items[u[0]].tier, s.items[u[1]].tier})
		for _, k := range u {
			s.take(k)
		}
		if c.full {
			s.put(slices.IndexFunc(s.items, func(it item) bool { return it.home < 0 }), s.items[u[1]].home)
		}
		s.rejoin(c.tier)
		for _, k := range u {
			require.Equal(t, c.together, s.items[k].at == s.items[k].home)
		}
	})
}
