package packing

import (
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
