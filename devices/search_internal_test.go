package devices

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// slotsOf returns the slices of a pool on a node. The pool has n slots, and each device takes one of them.
func slotsOf(node, n string, devices ...resourcev1.Device) []*resourcev1.ResourceSlice {
	counters := func(n string) map[string]resourcev1.Counter {
		return map[string]resourcev1.Counter{"slots": {Value: resource.MustParse(n)}}
	}
	slice := privateSlice(node)
	for _, d := range devices {
		d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "set", Counters: counters("1")}}
		slice.Spec.Devices = append(slice.Spec.Devices, d)
	}
	slice.Spec.Pool.ResourceSliceCount = 2
	sets := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-sets"}, Spec: slice.Spec}
	sets.Spec.Devices, sets.Spec.SharedCounters = nil, []resourcev1.CounterSet{{Name: "set", Counters: counters(n)}}
	return []*resourcev1.ResourceSlice{slice, sets}
}

// An alternative of all devices that finds no room gives everything back: the next alternative has the counters, and the constraints
// do not know of the device. The device is not shareable, and yet somebody has a share of it (quirk U10.10).
func TestAlternativeGivesBack(t *testing.T) {
	one := resource.MustParse("1")
	memory := map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: one}}
	attribute := func(n int64) map[resourcev1.QualifiedName]resourcev1.DeviceAttribute {
		return map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"example.com/numa": {IntValue: &n}}
	}
	published := slotsOf("n", "1", resourcev1.Device{Name: "full", Capacity: memory, Attributes: attribute(0)}, resourcev1.Device{Name: "free", Attributes: attribute(1)})
	running := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "running"}}
	running.Status.Allocation = &resourcev1.AllocationResult{}

	s := stateOfTwo(1)
	wanted := resourcev1.FullyQualifiedName("example.com/numa")
	spec := &s.pending[0].Spec.Devices
	spec.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &wanted}}
	spec.Requests = []resourcev1.DeviceRequest{{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{
		{Name: "all", DeviceClassName: "class", AllocationMode: resourcev1.DeviceAllocationModeAll, Capacity: &resourcev1.CapacityRequirements{Requests: capacities{"memory": one}}},
		{Name: "one", DeviceClassName: "class", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1},
	}}}
	ledger := NewLedger(NewInventory(published), running)
	ledger.measured[0], ledger.consumed[0] = 1, capacities{"memory": one}
	search := NewAllocator(ledger, s.allocator.classes, nil, Options{AllStatic: true}).Compile(s.pending...)
	results, ok, err := search.Allocate(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, results[0].Devices.Results, 1)
	require.Equal(t, "free", results[0].Devices.Results[0].Device)
}

// A device that is listed beside shared counters takes none of them.
func TestCountersOfDevicesBesideSets(t *testing.T) {
	published := slotsOf("n", "3", resourcev1.Device{Name: "a"})
	published[1].Spec.Devices = []resourcev1.Device{{Name: "b", ConsumesCounters: published[0].Spec.Devices[0].ConsumesCounters}}
	ledger := NewLedger(NewInventory(published))
	for _, name := range []string{"a", "b"} {
		r := resourcev1.DeviceRequestAllocationResult{Driver: "example.com", Pool: "n", Device: name}
		ledger.Add(nil, &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}})
	}
	v := NewAllocator(ledger, nil, nil, Options{}).view(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	left := v.pools[0].available(ledger)[counterID{"set", "slots"}]
	require.Equal(t, "2", left.value.String())
}

// Of two claims whose allocations have no node selector, the error names the first.
func TestFirstSelectorError(t *testing.T) {
	slice := privateSlice("s", "a", "b")
	term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "rack", Operator: v1.NodeSelectorOpDoesNotExist}}}
	slice.Spec.NodeName, slice.Spec.NodeSelector = nil, &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term, term}}
	s := stateOfTwo(1)
	second := s.pending[0].DeepCopy()
	second.Name = "second"
	search := NewAllocator(NewLedger(NewInventory([]*resourcev1.ResourceSlice{slice})), s.allocator.classes, nil, Options{}).Compile(s.pending[0], second)
	a := search.ask(search.allocator.viewOf(0, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}))
	require.False(t, a.ok)
	require.EqualError(t, a.err, "create NodeSelector for claim c: unsupported ResourceSlice.NodeSelector with 2 terms")
}

// An allocation can be used on every node when its device says that it does not bind to a node.
func TestUnboundDevice(t *testing.T) {
	for _, binds := range []bool{false, true} {
		slice := privateSlice("s", "d")
		slice.Spec.NodeName, slice.Spec.AllNodes, slice.Spec.Devices[0].BindsToNode = new(""), new(true), &binds
		s := stateOfTwo(1)
		search := NewAllocator(NewLedger(NewInventory([]*resourcev1.ResourceSlice{slice})), s.allocator.classes, nil, Options{}).Compile(s.pending...)
		results, ok, err := search.Allocate(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		require.NoError(t, err)
		require.True(t, ok, "an empty node name is none, all nodes can use the slice")
		require.Equal(t, binds, results[0].NodeSelector != nil)
	}
}

// Pools come by driver and name, and behind them the pools with binding conditions. An invalid pool offers no devices, so its binding
// conditions do not count.
func TestOrderOfPools(t *testing.T) {
	var published []*resourcev1.ResourceSlice
	for _, name := range []string{"c", "b", "a-binds", "b-binds-invalid", "d-invalid"} {
		slice := privateSlice("n", "x")
		slice.Name, slice.Spec.Pool.Name = name, name
		if name == "a-binds" || name == "b-binds-invalid" {
			slice.Spec.Devices[0].BindingConditions = []string{"ready"}
		}
		if name == "b-binds-invalid" || name == "d-invalid" {
			slice.Spec.Devices = append(slice.Spec.Devices, slice.Spec.Devices[0])
		}
		published = append(published, slice)
	}
	pools, err := NewAllocator(NewLedger(NewInventory(published)), nil, nil, Options{}).poolsOf(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	require.NoError(t, err)
	var names []string
	for _, p := range pools {
		names = append(names, p.key.pool)
	}
	require.Equal(t, []string{"b", "b-binds-invalid", "c", "d-invalid", "a-binds"}, names)
}

// Without classes nobody adds up what a pod asks for.
func TestNoClassesCostNothing(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: types.UID("p")}}
	pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"example.com/gpu": resource.MustParse("1")}}}}
	require.Zero(t, testing.AllocsPerRun(10, func() { ExtendedResources(nil).Serve(pod) }))
	require.False(t, ExtendedResources(nil).Serve(pod))
	require.True(t, ExtendedResources{"example.com/gpu": {}}.Serve(pod))
}
