package devices_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// FuzzAllocate checks every allocation: no device twice, no device that somebody has, exactly the requested number of
// devices, and unmodified input. After the result is counted, its devices are no longer available.
func FuzzAllocate(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{3, 1, 0, 0, 2, 1, 1, 1, 0, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		slice := gpus("n1")
		slice.Spec.Devices = nil
		for k := range 1 + b.Below(6) {
			numa := int64(b.Below(2))
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", k),
				Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"numa": {IntValue: &numa}}})
		}
		taken := map[string]bool{}
		running := gpuClaim("running", 0)
		running.Status.Allocation = &resourcev1.AllocationResult{}
		for _, d := range slice.Spec.Devices {
			if b.Below(4) == 0 {
				taken[d.Name] = true
				running.Status.Allocation.Devices.Results = append(running.Status.Allocation.Devices.Results,
					resourcev1.DeviceRequestAllocationResult{Driver: slice.Spec.Driver, Pool: slice.Spec.Pool.Name, Device: d.Name})
			}
		}
		free := len(slice.Spec.Devices) - len(taken)
		count := int64(1 + b.Below(4))
		claim := gpuClaim("web", count)
		name := resourcev1.FullyQualifiedName("gpu.example.com/numa")
		same := b.Below(2) == 1
		if same {
			claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &name}}
		}
		before := claim.DeepCopy()
		ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{slice}), running)
		allocator := devices.NewAllocator(ledger, class, nil, devices.Options{Steps: 100_000, Release: release.Versions()[b.Below(4)]})
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
		results, ok, err := allocator.Compile(claim).Allocate(node)
		require.NoError(t, err)
		require.Equal(t, before, claim)
		if !same {
			require.Equal(t, int64(free) >= count, ok)
		}
		if !ok {
			return
		}
		require.Len(t, results[0].Devices.Results, int(count))
		seen := map[string]bool{}
		for _, r := range results[0].Devices.Results {
			require.False(t, taken[r.Device] || seen[r.Device], r.Device)
			seen[r.Device] = true
		}
		ledger.Add(nil, &results[0])
		_, again, err := allocator.Compile(gpuClaim("rest", int64(free)-count+1)).Allocate(node)
		require.NoError(t, err)
		require.False(t, again, "more devices than are free")
	})
}

// FuzzRack compares a kept allocator with new ones: its answers, and what it says of them.
func FuzzRack(f *testing.F) {
	f.Add([]byte("answers about some pods, which come and leave"))
	f.Add([]byte("\x01what is said of these pods"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		say, pods, o := b.Below(2) == 1, b.Below(10), devices.Options{Release: release.Versions()[2+b.Below(2)]}
		r := &rack{Rand: rand.New(b), free: b.Below(3) == 0, clean: b.Below(2) == 1}
		if say {
			r.nodes = nodesOf("n0", "n1", "n2")
			r.sentences(t, "fuzz", pods)
			return
		}
		r.attempts(t, "fuzz", pods, o)
	})
}
