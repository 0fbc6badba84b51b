package devices_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
)

// keptOf returns the Kept of a pod with a claim for n devices, on nodes n0, n1 and n2 with two devices each.
func keptOf(t testing.TB, n int64) (*devices.Kept, *devices.Ledger, func(node int) *resourcev1.AllocationResult) {
	t.Helper()
	var (
		nodes  list
		slices []*resourcev1.ResourceSlice
	)
	for k := range 3 {
		name := fmt.Sprintf("n%d", k)
		nodes, slices = append(nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}), append(slices, gpus(name))
	}
	ledger := devices.NewLedger(devices.NewInventory(slices))
	gpu := class("gpu")
	allocator := devices.NewAllocator(ledger, func(string) *resourcev1.DeviceClass { return gpu }, nil, devices.Options{})
	state := func(claim string) *devices.State {
		pod := devices.Compile(user("p", claim), &byName{list: []*resourcev1.ResourceClaim{gpuClaim(claim, n)}}, nil)
		return pod.On(nodes, allocator, devices.Clock{})
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
	ledger.Add(taken)
	slots, at = since(at)
	require.Equal(t, []int{1}, slots)
	require.Equal(t, []string{"cannot allocate all claims"}, kept.Reasons(kept.Check(1)))
	require.NotEqual(t, free, kept.AppendSignature(nil, 1))
	require.Zero(t, kept.Check(2))
	ledger.Remove(taken)
	slots, at = since(at)
	require.Equal(t, []int{1}, slots)
	require.Equal(t, free, kept.AppendSignature(nil, 1))

	for range 40_000 { // more than the ledger remembers
		ledger.Add(taken)
		ledger.Remove(taken)
	}
	slots, at = since(at)
	require.Equal(t, []int{0, 1, 2}, slots)
	slots, _ = since(at)
	require.Empty(t, slots)
}

// Pods with an allocated claim and pods without claims share nothing.
func TestKeptNone(t *testing.T) {
	claim := gpuClaim("web", 1)
	claim.Status.Allocation = &resourcev1.AllocationResult{}
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(nil)), class, nil, devices.Options{})
	on := func(pod *v1.Pod) *devices.State {
		return devices.Compile(pod, &byName{list: []*resourcev1.ResourceClaim{claim}}, nil).On(list{}, allocator, devices.Clock{})
	}
	require.Nil(t, on(user("p", "web")).Kept())
	require.Nil(t, on(&v1.Pod{}).Kept())
}

// BenchmarkKept asks for the answer about a node whose devices have changed.
func BenchmarkKept(b *testing.B) {
	kept, ledger, take := keptOf(b, 1)
	taken := take(0)
	b.ReportAllocs()
	for b.Loop() {
		ledger.Add(taken)
		if kept.Check(0) != 0 {
			b.Fatal("one of two devices is free")
		}
		ledger.Remove(taken)
	}
}
