package devices_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

func nodesOf(names ...string) (out list) {
	for _, name := range names {
		out = append(out, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return out
}

// stateOf returns the state of a pod over nodes with two GPUs each, of which one on n1 is taken.
func stateOf(nodes list, pod *v1.Pod, clock devices.Clock, claims ...*resourcev1.ResourceClaim) *devices.Full {
	var published []*resourcev1.ResourceSlice
	for _, n := range nodes {
		if n != nil {
			published = append(published, gpus(n.Name))
		}
	}
	gpu := class("gpu")
	gpu.Spec.ExtendedResourceName = new("example.com/gpu")
	running := gpuClaim("running", 1)
	running.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-0"}}}}
	ledger := devices.NewLedger(devices.NewInventory(published), append(claims, running)...)
	compiled := devices.Compile(pod, &byName{list: claims}, devices.NewExtendedResources(slices.Values([]*resourcev1.DeviceClass{gpu})))
	return compiled.Onto(nodes, devices.NewAllocator(ledger, func(string) *resourcev1.DeviceClass { return gpu }, nil, devices.Options{}), clock)
}

// The sentences of a rejection say what is missing, or why an allocation cannot be used.
func TestNumbers(t *testing.T) {
	nodes := append(nodesOf("n1", "n2"), nil)
	on := func(c *resourcev1.ResourceClaim, node string) *resourcev1.ResourceClaim {
		c.Status.Allocation.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}}}}}
		return c
	}
	clock := devices.Clock{Now: noon, BindingTimeout: 30 * time.Second}
	attached := metav1.Condition{Type: "Attached", Status: metav1.ConditionTrue}
	broken := metav1.Condition{Type: "Broken", Status: metav1.ConditionTrue, Reason: "Cable", Message: "no link"}
	two := boundClaim(attached)
	two.Status.Allocation.Devices.Results = append(two.Status.Allocation.Devices.Results, resourcev1.DeviceRequestAllocationResult{Driver: "gpu.example.com", Pool: "n1", Device: "gpu-1"})
	short := "claim default/own, request gpu: wants 2, 1 of 2 devices left; 1 fail the test: is not in use (held by claim default/running)"
	twice := strings.Replace(short, "claim default/running", "claims default/running, default/web", 1)
	type test struct {
		name, why string
		claims    []*resourcev1.ResourceClaim
		want      [3][]string // n1, n2, no node
	}
	testkit.Run(t, []test{
		{"devices are missing", "n1 has one GPU left", []*resourcev1.ResourceClaim{gpuClaim("own", 2)}, [3][]string{{short}, nil, nil}},
		{"allocated elsewhere", "the devices belong to n2", []*resourcev1.ResourceClaim{on(two, "n2")},
			[3][]string{{"claim default/web has devices that this node cannot use: gpu.example.com/n1/gpu-0, gpu.example.com/n1/gpu-1"}, nil, nil}},
		{"failed", "a failure condition is true", []*resourcev1.ResourceClaim{boundClaim(broken)},
			[3][]string{{`claim default/web: binding of its devices failed: device binding failed: claim=web, reason=Cable, message="no link"`},
				{`claim default/web: binding of its devices failed: device binding failed: claim=web, reason=Cable, message="no link"`}, nil}},
		{"too late", "the condition was not met in time", []*resourcev1.ResourceClaim{boundClaim()},
			[3][]string{{"claim default/web: the binding conditions of its devices were not met in time"}, {"claim default/web: the binding conditions of its devices were not met in time"}, nil}},
		{"both", "the search comes first on n1; the allocation belongs to n1", []*resourcev1.ResourceClaim{gpuClaim("own", 2), on(boundClaim(attached), "n1")},
			[3][]string{{twice}, {"claim default/web has devices that this node cannot use: gpu.example.com/n1/gpu-0"}, nil}},
	}, func(t *testing.T, c test) {
		var names []string
		for _, x := range c.claims {
			names = append(names, x.Name)
		}
		s := stateOf(nodes, user("p", names...), clock, c.claims...)
		for range 2 { // sentences are kept
			for i := range nodes {
				require.Equal(t, c.want[i], s.Numbers(i), "slot %d", i)
			}
		}
		_, ok := s.Explain(2)
		require.False(t, ok)
		_, ok = s.Explain(0)
		require.Equal(t, c.claims[0].Status.Allocation == nil, ok)
	})
}

// Nodes of one class have equal sentences; a pool that offers nothing is named for its own node.
func TestNumbersOfPools(t *testing.T) {
	nodes := nodesOf("n1", "n2", "n3")
	published := []*resourcev1.ResourceSlice{gpus("n1"), gpus("n2"), gpus("n3")}
	published[2].Spec.Pool.ResourceSliceCount = 2
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(published)), class, nil, devices.Options{})
	s := devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{gpuClaim("web", 3)}}, nil).Onto(nodes, allocator, devices.Clock{})
	short := "claim default/web, request gpu: wants 3, 2 of 2 devices left"
	require.Equal(t, []string{short}, s.Numbers(0))
	require.Equal(t, []string{short}, s.Numbers(1))
	require.Equal(t, []string{"claim default/web, request gpu: wants 3, 0 of 0 devices left", "pool gpu.example.com/n3 offers nothing: 1 of 2 slices"}, s.Numbers(2))
}

// The claim for extended resources has sentences where classes provide the resource.
func TestNumbersOfExtendedResources(t *testing.T) {
	nodes := nodesOf("n1", "n2")
	nodes[1].Status.Allocatable = v1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	pod := user("p")
	pod.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"example.com/gpu": resource.MustParse("2")}}}}
	s := stateOf(nodes, pod, devices.Clock{})
	require.Equal(t, []string{"claim default/<extended-resources>, request container-0-request-0: wants 2, 1 of 2 devices left; 1 fail the test: is not in use (held by claim default/running)"}, s.Numbers(0))
	require.Nil(t, s.Numbers(1))
	_, ok := s.Explain(1)
	require.False(t, ok, "the node offers the resource itself")
	e, ok := s.Explain(0)
	require.True(t, ok)
	require.False(t, e.Allocates)

	pod.Spec.ResourceClaims = user("p", "web").Spec.ResourceClaims
	s = stateOf(nodes, pod, devices.Clock{}, gpuClaim("web", 1))
	e, ok = s.Explain(1)
	require.True(t, ok, "the claim of the user's is allocated there")
	require.True(t, e.Allocates)
	require.Equal(t, []string{"the node has devices for all claims"}, e.Lines())
	pod.Spec.Containers[0].Resources.Requests["example.com/fpga"] = resource.MustParse("1")
	s = stateOf(nodes, pod, devices.Clock{}, gpuClaim("web", 1))
	require.Equal(t, []string{"cannot fit resource"}, s.Reasons(s.Check(0)))
	_, ok = s.Explain(0)
	require.False(t, ok)
	require.Nil(t, s.Numbers(0))
}

// A pool that contradicts itself says how.
func TestPoolReasons(t *testing.T) {
	amount := resource.MustParse("1")
	set := func(name string) resourcev1.CounterSet {
		return resourcev1.CounterSet{Name: name, Counters: map[string]resourcev1.Counter{"slots": {Value: amount}}}
	}
	uses := func(set, counter string) []resourcev1.DeviceCounterConsumption {
		return []resourcev1.DeviceCounterConsumption{{CounterSet: set, Counters: map[string]resourcev1.Counter{counter: {Value: amount}}}}
	}
	type test struct {
		name, why, want, foreign string // what n1 and n2 say; n2 sees the counters alone
		devices                  []resourcev1.Device
		sets                     []resourcev1.CounterSet
	}
	everywhere := devices.Options{Release: release.V1_36} // a node sees the counters of other nodes (L1.6)
	testkit.Run(t, []test{
		{"a device twice", "the name says which", "duplicate device name a", "", []resourcev1.Device{{Name: "a"}, {Name: "a"}}, []resourcev1.CounterSet{set("card")}},
		{"a set twice", "the name says which", "duplicate counter set name card", "duplicate counter set name card",
			[]resourcev1.Device{{Name: "a"}}, []resourcev1.CounterSet{set("card"), set("card")}},
		{"no set", "a device uses it", "counter set other not found", "counter set other not found",
			[]resourcev1.Device{{Name: "a", ConsumesCounters: uses("other", "slots")}}, []resourcev1.CounterSet{set("card")}},
		{"no counter", "a device uses it", "counter lanes not found in counter set card", "counter lanes not found in counter set card",
			[]resourcev1.Device{{Name: "a", ConsumesCounters: uses("card", "lanes")}}, []resourcev1.CounterSet{set("card")}},
		{"the first is named", "devices come before what they use", "duplicate device name a", "counter set other not found",
			[]resourcev1.Device{{Name: "a", ConsumesCounters: uses("other", "slots")}, {Name: "a"}}, []resourcev1.CounterSet{set("card")}},
	}, func(t *testing.T, c test) {
		published, counters := gpus("n1"), gpus("n1")
		published.Spec.Devices, published.Spec.Pool.ResourceSliceCount = c.devices, 2
		counters.Name, counters.Spec.Devices, counters.Spec.SharedCounters, counters.Spec.Pool.ResourceSliceCount = "counters", nil, c.sets, 2
		allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{published, counters})), class, nil, everywhere)
		for k, node := range nodesOf("n1", "n2") {
			want := []devices.PoolReport{{Pool: "gpu.example.com/n1", Reason: []string{c.want, c.foreign}[k]}}
			if want[0].Reason == "" {
				want = nil
			}
			require.Equal(t, want, allocator.Compile(gpuClaim("web", 1)).Explain(node).Pools, node.Name)
		}
	})
}
