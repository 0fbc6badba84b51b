package devices_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/hints"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// Nil, zero and extreme arguments give an error or the zero answer, but for objects that must not be nil.
func TestMisuse(t *testing.T) {
	const object = "pods, nodes, claims, slices, clusters and what looks them up must not be nil"
	nodes := func() devices.Cluster { return testkit.NewCluster([]*v1.Node{{}, nil}, nil) }
	ledger := func() *devices.Ledger {
		return devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1")}))
	}
	allocator := func() *devices.Allocator { return devices.NewAllocator(ledger(), class, nil, devices.Options{}) }
	objects := world{"web": gpuClaim("web", 1)}
	pod := func() *devices.Pod { return devices.Compile(claimPod(), objects, nil) }
	testkit.Misuse(t, map[string]any{
		"Abandoned":            devices.Abandoned,
		"WithoutHolders":       devices.WithoutHolders,
		"BindingReadiness":     devices.BindingReadiness,
		"Bound":                devices.Bound,
		"BoundFor":             devices.BoundFor,
		"RuleMatters":          devices.RuleMatters,
		"RuleTaint":            devices.RuleTaint,
		"ClaimName":            devices.ClaimName,
		"Tolerates":            devices.Tolerates,
		"ClaimFromTemplate":    devices.ClaimFromTemplate,
		"Compile":              devices.Compile,
		"Deallocated":          devices.Deallocated,
		"Gate":                 devices.Gate,
		"NewAllocator":         devices.NewAllocator,
		"Normalize":            devices.Normalize,
		"NewExtendedResources": devices.NewExtendedResources,
		"NewInventory":         devices.NewInventory,
		"NewLedger":            devices.NewLedger,
		"PodClaims":            devices.PodClaims,
		"FreeGroup":            devices.FreeGroup,
		"Reserved":             devices.Reserved,
		"Unreserved":           devices.Unreserved,
		"claim hint":           hints.Claim(objects, release.V1_37),
		"pod hint":             hints.Pod(objects),
		"Allocator":            allocator,
		"Explanation":          func() devices.Explanation { return devices.Explanation{} },
		"ID":                   func() devices.ID { return devices.ID{} },
		"Ledger":               ledger,
		"Options":              func() devices.Options { return devices.Options{} },
		"Pod":                  pod,
		"RequestReport":        func() devices.RequestReport { return devices.RequestReport{} },
		"Search":               func() *devices.Search { return allocator().Compile(gpuClaim("web", 1)) },
		"State":                func() *devices.Full { return pod().Onto(nodes(), allocator(), devices.Clock{}) },
		"ExtendedResources":    func() devices.ExtendedResources { return nil },
	}, map[string]string{
		"Abandoned":         object,
		"Allocator.Compile": object,
		"Allocator.Offered": object,
		"BindingReadiness":  object,
		"Bound":             object,
		"BoundFor":          object,
		"ClaimFromTemplate": object,
		"ClaimName":         object,
		"RuleTaint":         object,
		"Tolerates":         object,
		"Compile":           object,
		"Deallocated":       object,
		"Gate":              object,
		"NewAllocator":      object,
		"NewInventory":      object,
		"NewLedger":         object,
		"Pod.On":            object,
		"Pod.Onto":          object,
		"PodClaims":         object,
		"FreeGroup":         object,
		"Reserved":          object,
		"Search.Allocate":   object,
		"Search.Capacity":   object,
		"Search.Complete":   object,
		"Search.Explain":    object,
		"Search.Verdicts":   object,
		"Unreserved":        object,
	}, nodes(), ledger(), allocator(), devices.Objects(objects), claimPod(), gpuClaim("web", 1))
}

// Slots, limits and verdicts at the ends of their ranges neither panic nor take memory.
func TestExtremes(t *testing.T) {
	ledger := devices.NewLedger(devices.NewInventory(nil))
	cluster := testkit.NewCluster([]*v1.Node{{}}, nil)
	pod := &v1.Pod{Spec: v1.PodSpec{ResourceClaims: []v1.PodResourceClaim{{Name: "a", ResourceClaimName: new("web")}}}}
	pod.Namespace = "default"
	s := devices.Compile(pod, world{"web": gpuClaim("web", 1)}, nil).Onto(cluster, devices.NewAllocator(ledger, class, nil, devices.Options{}), devices.Clock{})
	require.Equal(t, []string{"cannot allocate all claims"}, s.Reasons(s.Check(0)))
	for _, slot := range []int{math.MinInt, -1, 1, 1 << 40, math.MaxInt} {
		require.Equal(t, []string{"the slot has no node"}, s.Reasons(s.Check(slot)))
		require.Zero(t, s.Raw(slot))
		require.Empty(t, s.Allocation(slot))
	}
	none := devices.NewAllocator(ledger, class, nil, devices.Options{}).Compile()
	for _, limit := range []int{0, 1, math.MaxInt} {
		n, err := none.Capacity(&v1.Node{}, limit)
		require.NoError(t, err)
		require.Equal(t, limit, n, "without claims nothing is taken")
	}
	require.Nil(t, s.Reasons(8))
	require.Nil(t, s.Reasons(16), "no error has happened")
	require.Nil(t, s.Reasons(math.MaxUint16))
}
