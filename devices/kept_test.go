package devices_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
)

// keptOf returns the Kept of a pod with a claim for n devices, on nodes n0, n1 and n2 with two devices each.
func keptOf(t testing.TB, n int64) (engine.Kept, *devices.Ledger, func(node int) *resourcev1.AllocationResult) {
	t.Helper()
	var (
		nodes     list
		published []*resourcev1.ResourceSlice
	)
	for k := range 3 {
		name := fmt.Sprintf("n%d", k)
		nodes, published = append(nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}), append(published, gpus(name))
	}
	ledger := devices.NewLedger(devices.NewInventory(published))
	gpu := class("gpu")
	allocator := devices.NewAllocator(ledger, func(string) *resourcev1.DeviceClass { return gpu }, nil, devices.Options{})
	state := func(claim string) *devices.Full {
		pod := devices.Compile(user("p", claim), &byName{list: []*resourcev1.ResourceClaim{gpuClaim(claim, n)}}, nil)
		return pod.Onto(nodes, allocator, devices.Clock{})
	}
	kept := state("web").Kept()
	require.Same(t, kept, state("db").Kept(), "the claims ask for the same")
	return kept, ledger, func(node int) *resourcev1.AllocationResult { return &state("x").Allocation(node).Results[0] }
}

// A Kept has the answers of the ledger as it is, and says which slots to ask again.
func TestKeptFollows(t *testing.T) {
	kept, ledger, take := keptOf(t, 2)
	require.Equal(t, "DynamicResources", kept.Name())
	for i := range 3 {
		require.Zero(t, kept.Check(i))
	}
	require.NotZero(t, kept.Check(3))
	require.NotZero(t, kept.Check(-1))
	since := func(version uint64) (slots []int, now uint64) {
		now = kept.Since(version, func(i int) { slots = append(slots, i) })
		return slots, now
	}
	at := kept.Since(0, nil)
	slots, _ := since(at)
	require.Empty(t, slots)

	taken := take(1)
	free := kept.AppendSignature(nil, 1)
	ledger.Add(nil, taken)
	slots, at = since(at)
	require.Equal(t, []int{1}, slots)
	require.Equal(t, []string{"cannot allocate all claims"}, kept.Reasons(kept.Check(1)))
	require.NotEqual(t, free, kept.AppendSignature(nil, 1))
	require.Zero(t, kept.Check(2))
	ledger.Remove(nil, taken)
	slots, at = since(at)
	require.Equal(t, []int{1}, slots)
	require.Equal(t, free, kept.AppendSignature(nil, 1))

	for range 40_000 { // more than the ledger remembers
		ledger.Add(nil, taken)
		ledger.Remove(nil, taken)
	}
	slots, at = since(at)
	require.Equal(t, []int{0, 1, 2}, slots)
	slots, at = since(at)
	require.Empty(t, slots)
	ledger.Add(nil, taken)
	slots, _ = since(at)
	require.Equal(t, []int{1}, slots, "versions go on")

	kept, ledger, take = keptOf(t, 2)
	taken = take(1)
	at = kept.Since(0, nil)
	for range 10 {
		ledger.Add(nil, taken)
		ledger.Remove(nil, taken)
	}
	slots, _ = since(at)
	require.Equal(t, []int{1}, slots, "the ledger remembers more than twenty changes")

	at = kept.Since(0, nil)
	other := take(2)
	for range 2 {
		ledger.Add(nil, taken)
		ledger.Add(nil, other)
	}
	slots, _ = since(at)
	require.ElementsMatch(t, []int{1, 2}, slots, "each slot once")
}

// A shape keeps the answers of 128 kinds of pods, then begins again.
func TestKeptBounded(t *testing.T) {
	nodes := nodesOf("n1")
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(nil)), class, nil, devices.Options{})
	id := func(k int) int {
		c := holding("web", "gpu-0")
		c.Status.Allocation.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{fmt.Sprint(k)}}}}}}
		return devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{c}}, nil).Onto(nodes, allocator, devices.Clock{}).Kept().ID()
	}
	first := id(0)
	for k := range 128 {
		id(k)
	}
	require.Equal(t, first, id(0))
	id(128)
	require.NotEqual(t, first, id(0))
}

// An allocator keeps the shapes of 128 kinds of claims, then begins again.
func TestShapesBounded(t *testing.T) {
	gpu := class("gpu")
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(nil)), func(string) *resourcev1.DeviceClass { return gpu }, nil, devices.Options{})
	id := func(n int64) int {
		return devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{gpuClaim("web", n)}}, nil).Onto(nodesOf("n1"), allocator, devices.Clock{}).Kept().ID()
	}
	first := id(0)
	for n := range int64(128) {
		id(n)
	}
	require.Equal(t, first, id(0))
	id(128)
	require.NotEqual(t, first, id(0))
}

// Pods whose containers ask for the same extended resources of device classes share answers; nodes that offer the resource
// themselves need no devices.
func TestKeptExtended(t *testing.T) {
	gpu := class("gpu")
	gpu.Spec.ExtendedResourceName = new("example.com/gpu")
	classes := []*resourcev1.DeviceClass{gpu}
	nodes := list{{ObjectMeta: metav1.ObjectMeta{Name: "n0"}}, {ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "n2"}}}
	nodes[1].Status.Allocatable = v1.ResourceList{"example.com/gpu": resource.MustParse("4")}
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n0"), gpus("n1")}))
	allocator := devices.NewAllocator(ledger, func(string) *resourcev1.DeviceClass { return gpu }, nil, devices.Options{})
	asks := func(amounts ...string) *v1.Pod {
		pod := user("p")
		for _, amount := range amounts {
			pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"example.com/gpu": resource.MustParse(amount)}}})
		}
		return pod
	}
	state := func(pod *v1.Pod, claims ...*resourcev1.ResourceClaim) *devices.Full {
		return devices.Compile(pod, &byName{list: claims}, devices.NewExtendedResources(slices.Values(classes))).Onto(nodes, allocator, devices.Clock{})
	}
	kept := state(asks("2")).Kept()
	require.Same(t, kept, state(asks("2")).Kept(), "the containers ask for the same")
	require.NotSame(t, kept, state(asks("1")).Kept())
	require.NotSame(t, state(asks("1", "1")).Kept(), kept, "two requests in place of one")
	short := asks("2")
	short.Spec.InitContainers, short.Spec.Containers = short.Spec.Containers, nil
	require.NotSame(t, kept, state(short).Kept(), "an init container ends")
	withClaim := user("p", "web")
	withClaim.Spec.Containers = asks("2").Spec.Containers
	require.NotSame(t, kept, state(withClaim, gpuClaim("web", 1)).Kept())
	withClaim.Spec.ResourceClaims = nil
	classes = []*resourcev1.DeviceClass{gpu.DeepCopy()}
	require.NotSame(t, kept, state(asks("2")).Kept(), "another class provides the resource")
	classes = []*resourcev1.DeviceClass{gpu}
	require.NotEqual(t, kept.ID(), state(asks("1")).Kept().ID())

	require.Zero(t, kept.Check(0))
	require.Zero(t, kept.Check(1))
	require.Equal(t, []string{"cannot allocate all claims"}, kept.Reasons(kept.Check(2)))
	at := kept.Since(0, nil)
	taken := &state(asks("1")).Allocation(0).Results[0]
	ledger.Add(nil, taken)
	var moved []int
	kept.Since(at, func(i int) { moved = append(moved, i) })
	require.Equal(t, []int{0}, moved)
	require.Equal(t, []string{"cannot allocate all claims"}, kept.Reasons(kept.Check(0)))
	require.Equal(t, filter.UnschedulableAndUnresolvable, kept.(filter.Coder).Code(kept.Check(0)))
	require.Zero(t, kept.Check(1), "the device plugin offers the resource")

	freeing := state(asks("2")).Frees(&byName{}).Kept()
	require.NotEqual(t, kept.ID(), freeing.ID())
	require.Equal(t, filter.Unschedulable, freeing.(filter.Coder).Code(freeing.Check(0)))
	require.Equal(t, kept.Reasons(kept.Check(0)), freeing.Reasons(freeing.Check(0)))

	yes := true
	before := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p-extended-resources-x", UID: "x",
		Annotations:     map[string]string{"resource.kubernetes.io/extended-resource-claim": "true"},
		OwnerReferences: []metav1.OwnerReference{{Name: "p", UID: "p", Controller: &yes}}}}
	require.Nil(t, devices.Compile(asks("2"), world{"x": before}, devices.NewExtendedResources(slices.Values(classes))).Onto(nodes, allocator, devices.Clock{}).Kept(),
		"an earlier attempt has made the claim")
}

// Pods without claims, with an allocation that may time out, and with an allocation that Options.AlwaysRelease gives back share
// nothing.
func TestKeptNone(t *testing.T) {
	on := func(pod *v1.Pod, o devices.Options, claims ...*resourcev1.ResourceClaim) engine.Kept {
		allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(nil)), class, nil, o)
		return devices.Compile(pod, &byName{list: claims}, nil).Onto(list{}, allocator, devices.Clock{}).Kept()
	}
	require.Nil(t, on(&v1.Pod{}, devices.Options{}))
	require.Nil(t, on(user("p", "web"), devices.Options{}, boundClaim()))
	require.NotNil(t, on(user("p", "web"), devices.Options{}, holding("web", "gpu-0")))
	require.Nil(t, on(user("p", "web"), devices.Options{AlwaysRelease: true}, holding("web", "gpu-0")))
	require.NotNil(t, on(user("p", "web"), devices.Options{AlwaysRelease: true}, gpuClaim("web", 1)))
	require.NotNil(t, on(user("p", "web", "web"), devices.Options{}, gpuClaim("web", 1)))
	require.Nil(t, on(user("p", "web", "web"), devices.Options{ClaimOnce: true}, gpuClaim("web", 1)))

	node, open := nodesOf("n0"), counted()
	open[0].Spec.NodeName, open[0].Spec.AllNodes = nil, new(true)
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(open)), class, nil, devices.Options{})
	bound := []*resourcev1.ResourceClaim{holding("web", "gpu-0")}
	require.NotNil(t, devices.Compile(user("p", "web"), &byName{list: bound}, nil).Onto(node, allocator, devices.Clock{}).Kept(), "an allocated claim needs no counters")
}

// Pods share answers when their allocated claims have equal node selectors and equal scores. What a Kept is asked is no reason to
// give back an allocation of the pod.
func TestKeptAllocated(t *testing.T) {
	nodes := nodesOf("n1", "n2", "n3")
	first := func(c *resourcev1.ResourceClaim, chosen string) *resourcev1.ResourceClaim {
		x := c.Spec.Devices.Requests[0].Exactly
		c.Spec.Devices.Requests[0].Exactly = nil
		for _, name := range []string{"a", "b"} {
			c.Spec.Devices.Requests[0].FirstAvailable = append(c.Spec.Devices.Requests[0].FirstAvailable,
				resourcev1.DeviceSubRequest{Name: name, DeviceClassName: x.DeviceClassName, AllocationMode: x.AllocationMode, Count: x.Count})
		}
		c.Status.Allocation.Devices.Results[0].Request = "gpu/" + chosen
		return c
	}
	on := func(c *resourcev1.ResourceClaim, names ...string) *resourcev1.ResourceClaim {
		c.Status.Allocation.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: names}}}}}
		return c
	}
	claims := []*resourcev1.ResourceClaim{
		on(holding("one", "gpu-0"), "n1"), on(holding("same", "gpu-1"), "n1"), on(holding("two", "gpu-0"), "n2"), holding("any", "gpu-0"),
		on(first(holding("best", "gpu-0"), "a"), "n1"), on(first(holding("next", "gpu-1"), "b"), "n1"),
		gpuClaim("new", 1),
	}
	gpu := class("gpu")
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1"), gpus("n2")})), func(string) *resourcev1.DeviceClass { return gpu }, nil, devices.Options{})
	state := func(names ...string) *devices.Full {
		return devices.Compile(user("p", names...), &byName{list: claims}, nil).Onto(nodes, allocator, devices.Clock{})
	}
	ids := map[int]string{}
	for _, names := range [][]string{{"one"}, {"two"}, {"any"}, {"one", "two"}, {"one", "new"}, {"new"}, {"best", "new"}, {"next", "new"}, {"one", "one"}} {
		s, kept := state(names...), state(names...).Kept()
		require.NotNil(t, kept)
		require.Empty(t, ids[kept.ID()], "%v", names)
		ids[kept.ID()] = strings.Join(names, " ")
		for i := range nodes {
			require.Equal(t, s.Check(i), kept.Check(i), "%v on %s", names, nodes[i].Name)
			require.Equal(t, s.Raw(i), kept.Raw(i), "%v on %s", names, nodes[i].Name)
		}
		require.Equal(t, kept.ID(), state(names...).Kept().ID())
	}
	require.Equal(t, state("one").Kept().ID(), state("same").Kept().ID())
	require.Equal(t, int64(8), state("best", "new").Kept().Raw(0))
	require.Equal(t, int64(7), state("next", "new").Kept().Raw(0))
	require.Equal(t, int64(0), state("best").Kept().Raw(0), "nothing is allocated")

	claims = append(claims, on(holding("free", "gpu-0"), "n1"))
	s := state("free")
	require.NotZero(t, s.Kept().Check(1))
	require.Nil(t, s.Freed().Deallocate, "the pod's own state was not asked about n2")
	require.NotZero(t, s.Check(1))
	require.Equal(t, "free", s.Freed().Deallocate.Name)
}

// counted publishes device a, which uses one of two slots, and device b, which uses both.
func counted() []*resourcev1.ResourceSlice {
	uses := func(slots string) []resourcev1.DeviceCounterConsumption {
		return []resourcev1.DeviceCounterConsumption{{CounterSet: "card", Counters: map[string]resourcev1.Counter{"slots": {Value: resource.MustParse(slots)}}}}
	}
	published, counters := gpus("n0"), gpus("n0")
	published.Spec.Devices = []resourcev1.Device{{Name: "a", ConsumesCounters: uses("1")}, {Name: "b", ConsumesCounters: uses("2")}}
	counters.Name, counters.Spec.Devices = "counters", nil
	counters.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "card", Counters: map[string]resourcev1.Counter{"slots": {Value: resource.MustParse("2")}}}}
	published.Spec.Pool.ResourceSliceCount, counters.Spec.Pool.ResourceSliceCount = 2, 2
	return []*resourcev1.ResourceSlice{published, counters}
}

// A Kept counts the counters of a pool again after each allocation. Where several nodes see counters that devices consume, and
// where two drivers have pools of one name, pods share nothing.
func TestKeptCounters(t *testing.T) {
	nodes := list{{ObjectMeta: metav1.ObjectMeta{Name: "n0"}}}
	state := func(ledger *devices.Ledger) *devices.Full {
		pod := devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{gpuClaim("web", 1)}}, nil)
		return pod.Onto(nodes, devices.NewAllocator(ledger, class, nil, devices.Options{}), devices.Clock{})
	}
	ledger := devices.NewLedger(devices.NewInventory(counted()))
	x := state(ledger)
	kept := x.Kept()
	require.Zero(t, kept.Check(0))
	taken := &x.Allocation(0).Results[0]
	ledger.Add(nil, taken)
	require.Equal(t, []string{"cannot allocate all claims"}, kept.Reasons(kept.Check(0)))
	ledger.Remove(nil, taken)
	require.Zero(t, kept.Check(0))
	require.Equal(t, int64(50), kept.Normalize(4, 0, 8))

	yes := true
	open := counted()
	open[0].Spec.NodeName, open[0].Spec.AllNodes = nil, &yes
	require.Nil(t, state(devices.NewLedger(devices.NewInventory(open))).Kept(), "several nodes see the devices")
	same := counted()
	for _, s := range counted() {
		s.Name, s.Spec.Driver = s.Name+"-2", "other.example.com"
		same = append(same, s)
	}
	require.Nil(t, state(devices.NewLedger(devices.NewInventory(same))).Kept(), "pools of two drivers have one name")
	wide := counted()
	wide[1].Spec.NodeName, wide[1].Spec.AllNodes = nil, &yes
	require.NotNil(t, state(devices.NewLedger(devices.NewInventory(wide))).Kept(), "every node sees the counters, one node sees the devices")
	plain := gpus("n0")
	plain.Name, plain.Spec.Driver = "plain", "other.example.com"
	require.NotNil(t, state(devices.NewLedger(devices.NewInventory(append(counted(), plain)))).Kept(), "the second pool has no counters")
	apart, second := counted(), gpus("n1")
	second.Spec.Pool.Name, second.Spec.Pool.ResourceSliceCount = "n0", 3
	second.Spec.Devices = []resourcev1.Device{{Name: "c", ConsumesCounters: apart[0].Spec.Devices[0].ConsumesCounters}}
	apart[0].Spec.Pool.ResourceSliceCount, apart[1].Spec.Pool.ResourceSliceCount = 3, 3
	require.Nil(t, state(devices.NewLedger(devices.NewInventory(append(apart, second)))).Kept(), "slices of one pool belong to different nodes")
	each := counted()
	each[0].Spec.NodeName, each[0].Spec.PerDeviceNodeSelection = nil, &yes
	for k := range each[0].Spec.Devices {
		each[0].Spec.Devices[k].NodeName = &nodes[0].Name
	}
	require.Nil(t, state(devices.NewLedger(devices.NewInventory(each))).Kept(), "each device has a reach of its own")
}

// BenchmarkKept asks for the answer about a node whose devices have changed.
func BenchmarkKept(b *testing.B) {
	kept, ledger, take := keptOf(b, 1)
	taken := take(0)
	b.ReportAllocs()
	for b.Loop() {
		ledger.Add(nil, taken)
		if kept.Check(0) != 0 {
			b.Fatal("one of two devices is free")
		}
		ledger.Remove(nil, taken)
	}
}

// A device with shares and a device that is dedicated are not alike, though both are in use.
func TestKeptShares(t *testing.T) {
	yes := true
	var published []*resourcev1.ResourceSlice
	for _, name := range []string{"n0", "n1", "n2"} {
		s := gpus(name)
		s.Spec.Devices = []resourcev1.Device{{Name: "gpu-0", AllowMultipleAllocations: &yes}}
		published = append(published, s)
	}
	ledger := devices.NewLedger(devices.NewInventory(published))
	pod := devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{gpuClaim("web", 1)}}, nil)
	x := pod.Onto(nodesOf("n0", "n1", "n2"), devices.NewAllocator(ledger, class, nil, devices.Options{}), devices.Clock{})
	kept := x.Kept()
	dedicated := x.Allocation(1).Results[0].DeepCopy()
	dedicated.Devices.Results[0].ShareID = nil
	ledger.Add(nil, &x.Allocation(0).Results[0])
	ledger.Add(nil, dedicated)
	for range 2 {
		require.Zero(t, kept.Check(0), "one more share")
		require.NotZero(t, kept.Check(1), "the device is dedicated")
		require.Zero(t, kept.Check(2))
	}
}
