package devices_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/testkit"
)

// named returns the term of a node selector about the name of a node.
func named(operator v1.NodeSelectorOperator, name string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: operator, Values: []string{name}}}}
}

// Pods whose allocations name nodes share verdicts about all other nodes, and scores on each node.
func TestElsewhere(t *testing.T) {
	labelled := named(v1.NodeSelectorOpIn, "n1")
	labelled.MatchExpressions = []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpExists}}
	byZone := v1.NodeSelectorTerm{MatchExpressions: labelled.MatchExpressions}
	first := func(c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
		c.Spec.Devices.Requests[0].Exactly = nil
		c.Spec.Devices.Requests[0].FirstAvailable = []resourcev1.DeviceSubRequest{{Name: "a", DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}
		c.Status.Allocation.Devices.Results[0].Request = "gpu/a"
		return c
	}
	on := func(c *resourcev1.ResourceClaim, terms ...v1.NodeSelectorTerm) *resourcev1.ResourceClaim {
		c.Status.Allocation.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: terms}
		return c
	}
	claims := []*resourcev1.ResourceClaim{
		on(holding("one", "gpu-0"), named(v1.NodeSelectorOpIn, "n1")), on(holding("two", "gpu-1"), named(v1.NodeSelectorOpIn, "n2"), named(v1.NodeSelectorOpIn, "gone")),
		on(holding("terms", "gpu-0"), named(v1.NodeSelectorOpIn, "n1"), named(v1.NodeSelectorOpIn, "n3")), on(holding("labelled", "gpu-0"), labelled),
		on(holding("either", "gpu-0"), named(v1.NodeSelectorOpIn, "n1"), byZone), on(holding("not", "gpu-0"), named(v1.NodeSelectorOpNotIn, "n1")), on(holding("none", "gpu-0")),
		holding("any", "gpu-0"), on(first(holding("best", "gpu-0")), named(v1.NodeSelectorOpIn, "n1")), gpuClaim("new", 1), gpuClaim("many", 9),
	}
	nodes := nodesOf("n1", "n2", "n3")
	gpu := class("gpu")
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1"), gpus("n2")})), func(string) *resourcev1.DeviceClass { return gpu }, nil, devices.Options{})
	state := func(names ...string) *devices.Full {
		return devices.Compile(user("p", names...), &byName{list: claims}, nil).Onto(nodes, allocator, devices.Clock{})
	}
	id := func(names ...string) int {
		kept, _ := state(names...).Elsewhere()
		return kept.ID()
	}
	type testCase struct {
		name  string
		names []string
		want  []string
	}
	testkit.Run(t, []testCase{
		{"one", []string{"one"}, []string{"n1"}},
		{"a node that is gone", []string{"two"}, []string{"n2", "gone"}},
		{"two claims", []string{"one", "two"}, []string{"n1", "n2", "gone"}},
		{"two terms", []string{"terms"}, []string{"n1", "n3"}},
		{"a label too", []string{"labelled"}, []string{"n1"}},
		{"with a new claim", []string{"one", "new"}, []string{"n1"}},
		{"with a claim that no node can serve", []string{"many", "two"}, []string{"n2", "gone"}},
		{"a score", []string{"best", "new"}, []string{"n1"}},
		{"one term of two", []string{"either"}, nil},
		{"all but a name", []string{"not"}, nil},
		{"no term", []string{"none"}, nil},
		{"everywhere", []string{"any"}, nil},
		{"one of two claims", []string{"one", "any"}, nil},
		{"no allocation", []string{"new"}, nil},
	}, func(t *testing.T, c testCase) {
		kept, got := state(c.names...).Elsewhere()
		require.Equal(t, c.want, got)
		require.Equal(t, c.want == nil, kept == nil)
		if kept == nil {
			return
		}
		own, freeing := state(c.names...), state(c.names...).Frees(&byName{})
		preempting, _ := freeing.Elsewhere()
		for i, n := range nodes {
			if own.Check(i) == 0 {
				require.Equal(t, own.Raw(i), kept.Raw(i), n.Name)
			}
			require.Len(t, kept.AppendSignature(nil, i), 1)
			if !slices.Contains(got, n.Name) {
				require.Equal(t, own.Check(i), kept.Check(i), n.Name)
				require.Equal(t, freeing.Check(i), preempting.Check(i), n.Name)
			}
		}
		require.NotEqual(t, kept.ID(), preempting.ID())
		require.NotEqual(t, kept.ID(), own.Kept().ID())
	})
	require.Equal(t, id("one"), id("two"))
	require.Equal(t, id("one", "new"), id("new", "two"))
	require.NotEqual(t, id("one"), id("one", "two"))
	require.NotEqual(t, id("one", "new"), id("best", "new"), "another score")
	require.NotEqual(t, id("one"), id("one", "new"))

	s := state("one")
	kept, _ := s.Elsewhere()
	require.NotZero(t, kept.Check(1))
	require.Nil(t, s.Freed().Deallocate, "the pod's own state was not asked")
}

// A signature says which of the allocated claims are missing on a node, of any number of claims.
func TestSignatureOfMissingClaims(t *testing.T) {
	nodes := nodesOf("n1", "n2")
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(nil)), class, nil, devices.Options{})
	signature := func(i int, on ...string) []int32 {
		var claims []*resourcev1.ResourceClaim
		var names []string
		for k, node := range on {
			c := holding("c"+string(rune('A'+k)), "gpu-0")
			c.Status.Allocation.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{named(v1.NodeSelectorOpIn, node)}}
			claims, names = append(claims, c), append(names, c.Name)
		}
		return devices.Compile(user("p", names...), &byName{list: claims}, nil).Onto(nodes, allocator, devices.Clock{}).Kept().AppendSignature(nil, i)[2:]
	}
	require.Equal(t, []int32{1}, signature(0, "n2", "n1"))
	require.Equal(t, []int32{2}, signature(1, "n2", "n1"))
	require.Equal(t, []int32{0}, signature(0, "n1", "n1"))
	var many []string
	for range 33 {
		many = append(many, "n2")
	}
	require.Equal(t, []int32{-1}, signature(0, many[:32]...))
	require.Equal(t, []int32{-1, 1}, signature(0, many...))
	require.Equal(t, []int32{0, 0}, signature(1, many...))
}
