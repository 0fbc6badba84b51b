package devices_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/release"
)

// with returns a device of n1 with string attributes "name=value".
func with(name string, attributes ...string) resourcev1.Device {
	d := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}}
	for k := 0; k < len(attributes); k += 2 {
		d.Attributes[resourcev1.QualifiedName(attributes[k])] = resourcev1.DeviceAttribute{StringValue: &attributes[k+1]}
	}
	return d
}

// sliceWith returns the slice of a node with these devices.
func sliceWith(node string, list ...resourcev1.Device) *resourcev1.ResourceSlice {
	s := gpus(node)
	s.Spec.Devices = list
	return s
}

// choose returns a request for one device that a selector of equals matches.
func choose(name, expression string) resourcev1.DeviceRequest {
	r := gpuClaim("x", 1).Spec.Devices.Requests[0]
	r.Name = name
	if expression != "" {
		r.Exactly.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
	}
	return r
}

// alike returns a constraint on an attribute of gpu.example.com.
func alike(attribute string, requests ...string) resourcev1.DeviceConstraint {
	name := resourcev1.FullyQualifiedName("gpu.example.com/" + attribute)
	return resourcev1.DeviceConstraint{MatchAttribute: &name, Requests: requests}
}

// chosen returns "request=device" of each result.
func chosen(results []resourcev1.AllocationResult) (out []string) {
	for k := range results {
		for _, r := range results[k].Devices.Results {
			out = append(out, r.Request+"="+r.Device)
		}
	}
	return out
}

// Nodes are of one class only when the values that a constraint compares have the same pattern, and a missing value is no value.
func TestClassesOfAttributes(t *testing.T) {
	nodes := nodesOf("n1", "n2", "n3", "n4")
	published := []*resourcev1.ResourceSlice{
		sliceWith("n1", with("a", "numa", "0"), with("b", "numa", "0")),
		sliceWith("n2", with("a", "numa", "0"), with("b", "numa", "1")),
		sliceWith("n3", with("a", "numa", "0"), with("b")),
		sliceWith("n4", with("a", "numa", "1"), with("b", "numa", "1")),
	}
	claim := gpuClaim("web", 2)
	claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{alike("numa")}
	gpu := class("gpu")
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(published)), func(string) *resourcev1.DeviceClass { return gpu }, equals{}, devices.Options{})
	s := devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{claim}}, nil).Onto(nodes, allocator, devices.Clock{})
	var fits []bool
	for i := range nodes {
		fits = append(fits, s.Check(i) == 0)
	}
	require.Equal(t, []bool{true, false, false, true}, fits)
}

// A State has an answer of its own for each of many slots.
func TestManySlots(t *testing.T) {
	var nodes list
	var published []*resourcev1.ResourceSlice
	for k := range 700 {
		name := fmt.Sprintf("n%d", k)
		nodes = append(nodes, nodesOf(name)...)
		if k%3 == 0 {
			published = append(published, gpus(name))
		}
	}
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(published)), class, nil, devices.Options{})
	s := devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{gpuClaim("web", 1)}}, nil).Onto(nodes, allocator, devices.Clock{})
	for range 2 {
		for i := range nodes {
			require.Equal(t, i%3 == 0, s.Check(i) == 0, "slot %d", i)
		}
	}
}

// growing is a cluster that gets more nodes.
type growing struct{ list }

// A State answers about slots that the cluster did not have when the State was made.
func TestMoreSlots(t *testing.T) {
	cluster := &growing{}
	for k := range 256 {
		cluster.list = append(cluster.list, nodesOf(fmt.Sprintf("n%d", k))...)
	}
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n256")})), class, nil, devices.Options{})
	s := devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{gpuClaim("web", 1)}}, nil).Onto(cluster, allocator, devices.Clock{})
	require.NotZero(t, s.Check(255))
	cluster.list = append(cluster.list, nodesOf("n256", "n257")...)
	require.Zero(t, s.Check(256))
	require.NotZero(t, s.Check(257))
}

// A node that sees another pool after a change of its labels is asked again when the devices of this pool change.
func TestSinceNewPool(t *testing.T) {
	nodes := nodesOf("n1", "n2")
	shared := gpus("zone")
	shared.Spec.NodeName = nil
	shared.Spec.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{"a"}}}}}}
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1"), shared}))
	allocator := devices.NewAllocator(ledger, class, nil, devices.Options{})
	kept := devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{gpuClaim("web", 1)}}, nil).Onto(nodes, allocator, devices.Clock{}).Kept()
	require.Zero(t, kept.Check(0))
	require.NotZero(t, kept.Check(1))
	for i := range nodes {
		nodes[i] = nodes[i].DeepCopy()
		nodes[i].Labels = map[string]string{"zone": "a"}
		require.Zero(t, kept.Check(i))
	}
	at := kept.Since(0, nil)
	taken := held("gpu-0")
	taken.Devices.Results[0].Pool = "zone"
	ledger.Add(nil, taken)
	var slots []int
	kept.Since(at, func(i int) { slots = append(slots, i) })
	require.Equal(t, []int{0, 1}, slots)
}

// On each node the special claim asks for the resources that the node does not offer itself.
func TestProvidedByNode(t *testing.T) {
	nodes := nodesOf("n1", "n2")
	nodes[0].Status.Allocatable = v1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	nodes[1].Status.Allocatable = v1.ResourceList{"example.com/nic": resource.MustParse("1")}
	var classes []*resourcev1.DeviceClass
	for _, name := range []string{"gpu", "nic"} {
		c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		c.Spec.ExtendedResourceName = new("example.com/" + name)
		c.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "kind=" + name}}}
		classes = append(classes, c)
	}
	published := []*resourcev1.ResourceSlice{sliceWith("n1", with("a", "kind", "gpu"), with("b", "kind", "nic")), sliceWith("n2", with("a", "kind", "gpu"), with("b", "kind", "nic"))}
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(published)), func(name string) *resourcev1.DeviceClass {
		return classes[slices.IndexFunc(classes, func(c *resourcev1.DeviceClass) bool { return c.Name == name })]
	}, equals{}, devices.Options{})
	pod := user("p")
	pod.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"example.com/gpu": resource.MustParse("1"), "example.com/nic": resource.MustParse("1")}}}}
	s := devices.Compile(pod, &byName{}, devices.NewExtendedResources(slices.Values(classes))).Onto(nodes, allocator, devices.Clock{})
	require.Zero(t, s.Check(0))
	require.Zero(t, s.Check(1))
	require.Equal(t, []string{"container-0-request-1=b"}, chosen(s.Allocation(0).Results))
	require.Equal(t, []string{"container-0-request-0=a"}, chosen(s.Allocation(1).Results))
}

// A device that one constraint refuses leaves nothing in the constraints before.
func TestConstraintsUndone(t *testing.T) {
	n1 := nodesOf("n1")[0]
	claim := gpuClaim("web", 1)
	claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{alike("numa"), alike("rack")}
	inventory := devices.NewInventory([]*resourcev1.ResourceSlice{sliceWith("n1", with("a", "numa", "0"), with("b", "numa", "1", "rack", "r"))})
	results, ok, err := devices.NewAllocator(devices.NewLedger(inventory), class, nil, devices.Options{}).Compile(claim).Allocate(n1)
	require.NoError(t, err)
	require.True(t, ok, "device a lacks a rack, so its NUMA node counts no more")
	require.Equal(t, []string{"gpu=b"}, chosen(results))

	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{choose("a", "kind=a"), choose("b", "kind=b"), choose("c", "kind=c")}
	claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{alike("numa", "a", "c"), alike("rack", "b")}
	inventory = devices.NewInventory([]*resourcev1.ResourceSlice{sliceWith("n1", with("a", "kind", "a", "numa", "0"), with("no-rack", "kind", "b"), with("b", "kind", "b", "rack", "r"), with("c", "kind", "c", "numa", "1"))})
	_, ok, err = devices.NewAllocator(devices.NewLedger(inventory), class, equals{}, devices.Options{}).Compile(claim).Allocate(n1)
	require.NoError(t, err)
	require.False(t, ok, "the device of request a stays in its constraint when a device for request b is refused")
}

// A device of allocationMode All for which an earlier choice leaves no room is in no constraint when the next alternative is tried.
func TestAllWithoutRoom(t *testing.T) {
	yes := true
	shared := with("a", "numa", "0")
	shared.AllowMultipleAllocations = &yes
	shared.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("8Gi")}}
	takes := func(amount string) *resourcev1.CapacityRequirements {
		return &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse(amount)}}
	}
	first := choose("first", "numa=0")
	first.Exactly.Capacity = takes("6Gi")
	claim := gpuClaim("web", 1)
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{first, {Name: "f", FirstAvailable: []resourcev1.DeviceSubRequest{
		{Name: "all", DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeAll, Capacity: takes("4Gi"), Selectors: choose("x", "numa=0").Exactly.Selectors},
		{Name: "one", DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1, Selectors: choose("x", "numa=1").Exactly.Selectors},
	}}}
	claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{alike("numa", "f")}
	inventory := devices.NewInventory([]*resourcev1.ResourceSlice{sliceWith("n1", shared, with("b", "numa", "1"))})
	results, ok, err := devices.NewAllocator(devices.NewLedger(inventory), class, equals{}, devices.Options{}).Compile(claim).Allocate(nodesOf("n1")[0])
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"first=a", "f/one=b"}, chosen(results))
}

// distinctAttribute refuses a list after another value, and no value after a list.
func TestDistinctLists(t *testing.T) {
	list := with("list", "kind", "list")
	list.Attributes["numa"] = resourcev1.DeviceAttribute{}
	inventory := devices.NewInventory([]*resourcev1.ResourceSlice{sliceWith("n1", with("text", "kind", "text", "numa", "0"), list)})
	name := resourcev1.FullyQualifiedName("gpu.example.com/numa")
	for _, o := range []devices.Options{{}, {AllDistinct: true}} {
		serves := func(first, second string) bool {
			claim := gpuClaim("web", 1)
			claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{choose("r0", "kind="+first), choose("r1", "kind="+second)}
			claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{DistinctAttribute: &name}}
			_, ok, err := devices.NewAllocator(devices.NewLedger(inventory), class, equals{}, o).Compile(claim).Allocate(nodesOf("n1")[0])
			require.NoError(t, err)
			return ok
		}
		require.False(t, serves("text", "list"))
		require.True(t, serves("list", "text"))
	}
}

// The complete search takes one of several equal devices, but never for a device that has a share already.
func TestCompleteSharesApart(t *testing.T) {
	yes := true
	share := func(d resourcev1.Device) resourcev1.Device {
		d.AllowMultipleAllocations = &yes
		return d
	}
	admin, blocked := gpuClaim("admin", 1), gpuClaim("web", 1)
	admin.Spec.Devices.Requests = []resourcev1.DeviceRequest{choose("see", "kind=whole")}
	admin.Spec.Devices.Requests[0].Exactly.AdminAccess = &yes
	both := choose("both", "kind=shared")
	both.Exactly.Count = 2
	blocked.Spec.Devices.Requests = []resourcev1.DeviceRequest{choose("whole", "kind=whole"), both, choose("one", "kind=shared"), choose("near", "kind=last")}
	blocked.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{alike("numa", "one", "near")}
	inventory := devices.NewInventory([]*resourcev1.ResourceSlice{sliceWith("n1", with("w", "kind", "whole", "numa", "0"),
		share(with("s0", "kind", "shared", "numa", "0")), share(with("s1", "kind", "shared", "numa", "1")), with("l", "kind", "last", "numa", "1"))})
	search := devices.NewAllocator(devices.NewLedger(inventory), class, equals{}, devices.Options{}).Compile(admin, blocked)
	_, ok, err := search.Allocate(nodesOf("n1")[0])
	require.NoError(t, err)
	require.False(t, ok, "the choice with admin access blocks the device")
	results, ok, err := search.Complete(nodesOf("n1")[0])
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"see=w", "whole=w", "both=s0", "both=s1", "one=s1", "near=l"}, chosen(results))
}

// The name of a claim from a template is shortened beyond 57 bytes, and not before.
func TestNameOfTemplateClaim(t *testing.T) {
	template := &resourcev1.ResourceClaimTemplate{}
	for _, c := range []struct {
		pod  int
		want string
	}{{50, "-entry-"}, {51, "-entr"}} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: string(slices.Repeat([]byte{'p'}, c.pod)), UID: types.UID("p")}}
		claim := devices.ClaimFromTemplate(pod, "entry", template, "")
		require.Equal(t, string(slices.Repeat([]byte{'p'}, 50))+c.want, claim.GenerateName)
	}
}

// The last slot of a page has an answer of its own, and equal errors of nodes are one verdict.
func TestLastSlotOfAPage(t *testing.T) {
	var nodes list
	var published []*resourcev1.ResourceSlice
	for k := range 256 {
		nodes = append(nodes, nodesOf(fmt.Sprintf("n%d", k))...)
	}
	published = append(published, gpus("n255"))
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(published)), class, nil, devices.Options{})
	s := devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{gpuClaim("web", 1)}}, nil).Onto(nodes, allocator, devices.Clock{})
	for i := range nodes {
		require.Equal(t, i == 255, s.Check(i) == 0, "slot %d", i)
	}

	published = []*resourcev1.ResourceSlice{sliceWith("n0", with("a")), sliceWith("n1", with("a")), sliceWith("n2", with("a", "numa", "1"))}
	claim := gpuClaim("web", 1)
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{choose("gpu", "numa=0")}
	allocator = devices.NewAllocator(devices.NewLedger(devices.NewInventory(published)), class, equals{}, devices.Options{Release: release.V1_36}) // later errors name the device (L1.8)
	s = devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{claim}}, nil).Onto(nodes, allocator, devices.Clock{})
	first, second := s.Check(0), s.Check(1)
	require.NotZero(t, first)
	require.Equal(t, s.Reasons(first), s.Reasons(second))
	require.NotEqual(t, first, s.Check(2))
	for range 2 {
		require.Equal(t, first, s.Check(0))
		require.Equal(t, second, s.Check(1))
	}
}
