package devices

import (
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// A ledger counts whole devices, shares, and the sum of what the shares consume. What leaves is taken off the sum, and of a device without
// shares nothing stays. Admin access and devices that nobody lists count nothing.
func TestLedgerSums(t *testing.T) {
	l := NewLedger(NewInventory([]*resourcev1.ResourceSlice{privateSlice("n0", "d0", "d1"), privateSlice("n1", "d0")}))
	of := func(pool, device, memory string, admin bool) *resourcev1.AllocationResult {
		r := resourcev1.DeviceRequestAllocationResult{Driver: "example.com", Pool: pool, Device: device}
		if memory != "" {
			id := types.UID(memory)
			r.ShareID, r.ConsumedCapacity = &id, capacities{"memory": resource.MustParse(memory)}
		}
		if admin {
			r.AdminAccess = &admin
		}
		return &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}}
	}
	consumed := func(at int32) string {
		q, ok := l.consumed[at]["memory"]
		if !ok {
			return "nothing"
		}
		return q.String()
	}
	d0, d1 := l.inventory.index[ID{"example.com", "n0", "d0"}], l.inventory.index[ID{"example.com", "n0", "d1"}]

	l.Add(nil, of("n0", "d0", "2Gi", false))
	l.Add(nil, of("n0", "d0", "3Gi", false))
	require.Equal(t, "5Gi", consumed(d0))
	require.Equal(t, []int32{2, 0}, []int32{l.shares[d0], l.dedicated[d0]})
	l.Remove(nil, of("n0", "d0", "3Gi", false))
	require.Equal(t, "2Gi", consumed(d0))
	require.True(t, l.allocated(d0), "a share holds a device")
	l.Remove(nil, of("n0", "d0", "2Gi", false))
	require.Equal(t, "nothing", consumed(d0))
	require.Empty(t, l.consumed)
	require.False(t, l.allocated(d0))

	l.Add(nil, of("n0", "d1", "", false))
	l.Add(nil, of("n0", "d1", "", false))
	l.Remove(nil, of("n0", "d1", "", false))
	require.Equal(t, []int32{0, 1}, []int32{l.shares[d1], l.dedicated[d1]}, "two claims may show one device: each counts")
	require.True(t, l.allocated(d1))
	require.False(t, l.allocated(l.inventory.index[ID{"example.com", "n1", "d0"}]), "a device of the same name in another pool")

	before := len(l.touched)
	l.Add(nil, of("n0", "d0", "", true))
	l.Add(nil, of("n0", "gone", "", false))
	l.Add(nil, nil)
	require.False(t, l.allocated(d0))
	require.Len(t, l.touched, before)
}
