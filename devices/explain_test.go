package devices_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
)

// Why a node with eight GPUs cannot serve a claim.
func ExampleSearch_Explain() {
	slice := gpus("n1")
	slice.Spec.Devices = nil
	for k := range 8 {
		numa := int64(k / 4)
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", k),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"numa": {IntValue: &numa}}})
	}
	running := gpuClaim("running", 2)
	running.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-0"}, {Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-4"}}}}
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{slice}), running)
	allocator := devices.NewAllocator(ledger, class, nil, devices.Options{})
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}

	for _, line := range allocator.Compile(gpuClaim("large", 7)).Explain(node).Lines() {
		fmt.Println(line)
	}
	near := gpuClaim("near", 4)
	numa := resourcev1.FullyQualifiedName("gpu.example.com/numa")
	near.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &numa}}
	for _, line := range allocator.Compile(near).Explain(node).Lines() {
		fmt.Println(line)
	}
	n, err := allocator.Compile(gpuClaim("small", 2)).Capacity(node, 100)
	if err != nil {
		panic(err)
	}
	fmt.Println("room for", n, "pods with two GPUs each")
	// Output:
	// claim default/large, request gpu: wants 7, 6 of 8 devices left; 2 fail the test: is not in use
	// cannot be met together: request gpu of claim default/near, matchAttribute gpu.example.com/numa of claim default/near
	// room for 3 pods with two GPUs each
}

// An explanation agrees with the search, and every failure has a cause.
func TestExplain(t *testing.T) {
	racks := 1500
	if testing.Short() {
		racks = 300
	}
	short, conflicts, larger := 0, 0, 0
	for seed := range racks {
		r := &rack{Rand: rand.New(rand.NewPCG(uint64(seed), 4)), clean: seed%2 == 0, nodes: list{{ObjectMeta: metav1.ObjectMeta{Name: "n0"}}, {ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}}
		ledger := devices.NewLedger(devices.NewInventory(r.slices()))
		allocator := devices.NewAllocator(ledger, class, equals{}, devices.Options{Steps: 50_000})
		if results, ok, err := allocator.Compile(r.claim("running")).Allocate(r.nodes[0]); ok && err == nil {
			ledger.Add(&results[0])
		}
		claims := []*resourcev1.ResourceClaim{r.claim("a"), r.claim("b")}[:1+r.IntN(2)]
		search := allocator.Compile(claims...)
		for _, n := range r.nodes {
			_, ok, err := search.Allocate(n)
			e := search.Explain(n)
			require.Equal(t, ok, e.Allocates, "seed %d", seed)
			lines := strings.Join(e.Lines(), "\n")
			require.NotEmpty(t, lines, "seed %d", seed)
			if err != nil {
				require.Equal(t, err.Error(), e.Error)
				continue
			}
			if ok {
				continue
			}
			asks := map[string]bool{} // whether some alternative has enough devices
			for _, x := range e.Requests {
				name, _, _ := strings.Cut(x.Request, "/")
				asks[x.Claim+name] = asks[x.Claim+name] || !x.Short()
				decisive := 0
				for _, f := range x.Refused {
					require.Positive(t, f.Devices)
					if f.Decisive {
						decisive++
					}
				}
				require.Equal(t, x.Short() && x.Devices >= x.Wants, decisive > 0, "seed %d: %+v", seed, x)
			}
			alone := true
			for _, enough := range asks {
				alone = alone && enough
			}
			switch {
			case !alone:
				short++
				require.Empty(t, e.Conflict)
			case len(e.Conflict) > 0:
				conflicts++
			default:
				larger++
			}
		}
	}
	require.Greater(t, short, racks/10)
	require.Greater(t, conflicts, racks/100)
	require.Less(t, larger, conflicts)
}

// Capacity counts as one allocation after the other does, and leaves the ledger as it was.
func TestCapacity(t *testing.T) {
	for seed := range 300 {
		r := &rack{Rand: rand.New(rand.NewPCG(uint64(seed), 5)), clean: true, nodes: list{{ObjectMeta: metav1.ObjectMeta{Name: "n0"}}}}
		ledger := devices.NewLedger(devices.NewInventory(r.slices()))
		allocator := devices.NewAllocator(ledger, class, equals{}, devices.Options{Steps: 50_000})
		claim := r.claim("web")
		before, _, beforeErr := allocator.Compile(claim).Allocate(r.nodes[0])
		n, err := allocator.Compile(claim).Capacity(r.nodes[0], 10)
		after, _, afterErr := allocator.Compile(claim).Allocate(r.nodes[0])
		require.Equal(t, before, after)
		require.Equal(t, beforeErr, afterErr)
		want := 0
		for want < 10 {
			results, ok, e := allocator.Compile(claim).Allocate(r.nodes[0])
			if !ok {
				require.Equal(t, e, err)
				break
			}
			want++
			ledger.Add(&results[0])
		}
		require.Equal(t, want, n, "seed %d", seed)
	}
}
