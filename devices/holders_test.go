package devices_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
)

// held returns what an allocation of devices of n1 writes.
func held(names ...string) *resourcev1.AllocationResult {
	a := new(resourcev1.AllocationResult)
	for _, name := range names {
		a.Devices.Results = append(a.Devices.Results, resourcev1.DeviceRequestAllocationResult{Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: name})
	}
	return a
}

// holding returns a claim that has devices of n1.
func holding(name string, gpus ...string) *resourcev1.ResourceClaim {
	c := gpuClaim(name, int64(len(gpus)))
	c.Status.Allocation = held(gpus...)
	return c
}

// refusals returns the claims by test in an explanation of one request.
func refusals(e devices.Explanation) map[string][]string {
	out := map[string][]string{}
	for _, x := range e.Requests[0].Refused {
		out[x.Test] = x.Claims
	}
	return out
}

// The explanation names the claims that hold devices, also when the API server does not have their allocation yet, and no claim
// that has given back its devices.
func TestHolders(t *testing.T) {
	n1 := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1")}), holding("b", "gpu-0"))
	allocator := devices.NewAllocator(ledger, class, nil, devices.Options{})
	names := func() []string {
		e := allocator.Compile(gpuClaim("web", 2)).Explain(n1)
		return refusals(e)["is not in use"]
	}
	require.Equal(t, []string{"default/b"}, names())
	flying := gpuClaim("c", 1)
	ledger.Add(flying, held("gpu-1"))
	require.Equal(t, []string{"default/b", "default/c in flight"}, names())
	bound := holding("c", "gpu-1")
	ledger.Add(bound, bound.Status.Allocation)
	require.Equal(t, []string{"default/b", "default/c", "default/c in flight"}, names())
	ledger.Remove(flying.DeepCopy(), held("gpu-1"))
	require.Equal(t, []string{"default/b", "default/c"}, names())
	both := holding("a", "gpu-0", "gpu-1")
	ledger.Add(both, both.Status.Allocation)
	require.Equal(t, []string{"default/a", "default/b", "default/c"}, names(), "a claim has one name however many devices it holds")
	special := gpuClaim("<extended-resources>", 1)
	special.GenerateName = "batch-0-extended-resources-"
	ledger.Add(special, held("gpu-0"))
	e := allocator.Compile(gpuClaim("web", 2)).Explain(n1)
	require.Equal(t, []string{"default/a", "default/b", "default/batch-0-extended-resources in flight", "default/c"}, refusals(e)["is not in use"])
	require.Equal(t, []string{"claim default/web, request gpu: wants 2, 0 of 2 devices left; 2 fail the test: is not in use (held by claims default/a, default/b, default/batch-0-extended-resources in flight and 1 more)"}, e.Lines())

	other := special.DeepCopy()
	other.GenerateName = "batch-1-extended-resources-"
	ledger.Remove(other, held("gpu-0"))
	require.Contains(t, names(), "default/batch-0-extended-resources in flight", "another pod has no such claim")
	for _, c := range []*resourcev1.ResourceClaim{holding("b", "gpu-0"), bound, both} {
		ledger.Remove(c, c.Status.Allocation)
	}
	ledger.Remove(special, held("gpu-0"))
	require.Nil(t, names())
	for _, admin := range []bool{true, false} {
		c := holding("watch", "gpu-0")
		c.Status.Allocation.Devices.Results[0].AdminAccess = &admin
		watched := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1")}), c)
		e := devices.NewAllocator(watched, class, nil, devices.Options{}).Compile(gpuClaim("web", 2)).Explain(n1)
		require.Equal(t, admin, e.Allocates, "admin access holds nothing")
	}
	ledger.Add(nil, held("gpu-0"))
	require.Nil(t, names(), "nobody knows the claim")
}

// Capacity and counters have the names of the claims that take them.
func TestHoldersOfParts(t *testing.T) {
	yes := true
	amount := func(name, value string) map[resourcev1.QualifiedName]resource.Quantity {
		return map[resourcev1.QualifiedName]resource.Quantity{resourcev1.QualifiedName(name): resource.MustParse(value)}
	}
	uses := func(set string) []resourcev1.DeviceCounterConsumption {
		return []resourcev1.DeviceCounterConsumption{{CounterSet: set, Counters: map[string]resourcev1.Counter{"slots": {Value: resource.MustParse("2")}}}}
	}
	published, counters := gpus("n1"), gpus("n1")
	published.Spec.Pool.ResourceSliceCount = 2
	published.Spec.Devices = []resourcev1.Device{
		{Name: "shared", AllowMultipleAllocations: &yes, Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("8Gi")}, "links": {Value: resource.MustParse("4")}}},
		{Name: "part-0", ConsumesCounters: uses("card-0")}, {Name: "part-1", ConsumesCounters: uses("card-0")},
		{Name: "part-2", ConsumesCounters: uses("card-1")},
	}
	counters.Name, counters.Spec.Devices, counters.Spec.Pool.ResourceSliceCount = "counters", nil, 2
	for _, set := range []string{"card-0", "card-1"} {
		counters.Spec.SharedCounters = append(counters.Spec.SharedCounters, resourcev1.CounterSet{Name: set, Counters: map[string]resourcev1.Counter{"slots": {Value: resource.MustParse("3")}}})
	}
	share := func(name, capacity, value string) *resourcev1.ResourceClaim {
		c, id := holding(name, "shared"), types.UID("share-of-"+name)
		c.Status.Allocation.Devices.Results[0].ShareID, c.Status.Allocation.Devices.Results[0].ConsumedCapacity = &id, amount(capacity, value)
		return c
	}
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{published, counters}),
		share("large", "memory", "7Gi"), share("linked", "links", "1"), holding("first", "part-0"), holding("last", "part-2"))
	claim := gpuClaim("web", 4)
	claim.Spec.Devices.Requests[0].Exactly.Capacity = &resourcev1.CapacityRequirements{Requests: amount("memory", "2Gi")}
	e := devices.NewAllocator(ledger, class, nil, devices.Options{}).Compile(claim).Explain(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	got := refusals(e)
	require.Equal(t, []string{"default/first", "default/last"}, got["is not in use"])
	require.Equal(t, []string{"default/large"}, got["has enough of the capacity memory free"], "the other share takes links only")
	require.Equal(t, []string{"default/first", "default/last"}, got["has enough of the counter slots"], "parts of both cards are short")

	ledger.Remove(holding("last", "part-2"), held("part-2"))
	e = devices.NewAllocator(ledger, class, nil, devices.Options{}).Compile(claim).Explain(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	require.Equal(t, []string{"default/first"}, refusals(e)["has enough of the counter slots"], "the part of the other card is free")
}

// Nodes of one class name their own claims in sentences that are otherwise kept.
func TestHoldersByNode(t *testing.T) {
	nodes := nodesOf("n1", "n2", "n3")
	published := []*resourcev1.ResourceSlice{gpus("n1"), gpus("n2"), gpus("n3")}
	ledger := devices.NewLedger(devices.NewInventory(published))
	for k, n := range nodes {
		c := holding(fmt.Sprintf("on-%s", n.Name), "gpu-0")
		c.Status.Allocation.Devices.Results[0].Pool = n.Name
		c.Status.Allocation.Devices.Results[0].Device = fmt.Sprintf("gpu-%d", min(k, 1)) // n2 and n3 are of one class
		ledger.Add(c, c.Status.Allocation)
	}
	s := devices.Compile(user("p", "web"), &byName{list: []*resourcev1.ResourceClaim{gpuClaim("web", 2)}}, nil).Onto(nodes, devices.NewAllocator(ledger, class, nil, devices.Options{}), devices.Clock{})
	for range 2 {
		for i, n := range nodes {
			require.Equal(t, []string{"claim default/web, request gpu: wants 2, 1 of 2 devices left; 1 fail the test: is not in use (held by claim default/on-" + n.Name + ")"}, s.Numbers(i))
		}
	}
}

// After claims have come and left, the sentences of a kept allocator equal those of a new ledger and allocator.
func TestHoldersFollow(t *testing.T) {
	racks, named := 60, 0
	for seed := range racks {
		r := &rack{Rand: rand.New(rand.NewPCG(uint64(seed), 8)), clean: seed%2 == 0, nodes: nodesOf("n0", "n1", "n2")}
		named += r.sentences(t, fmt.Sprint("seed ", seed), 15)
	}
	require.Greater(t, named, racks*5)
}

// sentences compares what is said of some pods one after the other. It returns how often a device was in use.
func (r *rack) sentences(t *testing.T, name string, pods int) (named int) {
	t.Helper()
	inventory := devices.NewInventory(r.slices())
	ledger := devices.NewLedger(inventory)
	kept := devices.NewAllocator(ledger, class, equals{}, devices.Options{Steps: 2000})
	var running []*resourcev1.ResourceClaim
	for k := range pods {
		c := r.claim(fmt.Sprintf("c%d", k))
		pod := devices.Compile(user("p", c.Name), &byName{list: []*resourcev1.ResourceClaim{c}}, nil)
		now := pod.Onto(r.nodes, kept, devices.Clock{})
		fresh := pod.Onto(r.nodes, devices.NewAllocator(devices.NewLedger(inventory, running...), class, equals{}, devices.Options{Steps: 2000}), devices.Clock{})
		for i := range r.nodes {
			require.Equal(t, fresh.Numbers(i), now.Numbers(i), "%s pod %d node %d", name, k, i)
			want, ok := fresh.Explain(i)
			got, _ := now.Explain(i)
			require.Equal(t, want, got, "%s pod %d node %d", name, k, i)
			if ok && len(want.Requests) > 0 && len(refusals(want)["is not in use"]) > 0 {
				named++
			}
			if a := now.Allocation(i); len(a.Claims) > 0 && len(running) <= k {
				c := devices.Reserved(a.Claims[0], &a.Results[0])
				running = append(running, c)
				ledger.Add(c, c.Status.Allocation)
				break
			}
		}
		if len(running) > 0 && r.chance(40) {
			at := r.IntN(len(running))
			ledger.Remove(running[at].DeepCopy(), running[at].Status.Allocation)
			running = append(running[:at:at], running[at+1:]...)
		}
	}
	return named
}
