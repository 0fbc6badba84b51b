package devices

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
)

// FuzzLedger compares a ledger with the count of the allocations that it holds, and Kept.Since with the nodes whose devices changed.
func FuzzLedger(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
	f.Add([]byte{2, 1, 3, 2, 0, 2, 1, 3, 2, 0, 1, 1, 0, 0, 2, 1, 2, 2, 2, 1, 1, 1})
	inventory := NewInventory([]*resourcev1.ResourceSlice{privateSlice("n0", "d0", "d1"), privateSlice("n1", "d0", "d1")})
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		l := NewLedger(inventory)
		a := NewAllocator(l, nil, nil, Options{})
		for i, name := range []string{"n0", "n1"} {
			a.viewOf(i, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		kept := &kept{state: &state{allocator: a}}
		var held []*resourcev1.AllocationResult
		var changed []map[int]bool // by operation: slots whose devices it changed
		versions := []uint64{kept.Since(0, nil)}
		for range 8 {
			n := int32(1)
			var x *resourcev1.AllocationResult
			if len(held) > 0 && b.Below(3) == 0 {
				at := b.Below(len(held))
				n, x = -1, held[at]
				held = slices.Delete(held, at, at+1)
			} else {
				x = allocationOf(b)
				held = append(held, x)
			}
			l.count(nil, x, n)
			slots := map[int]bool{}
			for k := range x.Devices.Results {
				if r := &x.Devices.Results[k]; r.AdminAccess == nil && r.Device != "gone" {
					slots[int(r.Pool[1]-'0')] = true
				}
			}
			changed, versions = append(changed, slots), append(versions, kept.Since(0, nil))
		}
		same(t, inventory, held, l)
		for from, version := range versions {
			want, got := map[int]bool{}, map[int]bool{}
			for _, slots := range changed[from:] {
				maps.Copy(want, slots)
			}
			require.Equal(t, versions[len(versions)-1], kept.Since(version, func(i int) { got[i] = true }))
			if !maps.Equal(want, got) {
				t.Fatalf("since %d of %v: %v, want %v", version, versions, got, want)
			}
		}
	})
}

func privateSlice(node string, names ...string) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "example.com", Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1}, NodeName: &node}}
	for _, name := range names {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: name})
	}
	return s
}

// allocationOf returns an allocation of some devices: whole devices, shares, shares of a capacity, devices that nobody lists, and
// devices that an administrator looks at.
func allocationOf(b *testkit.Bytes) *resourcev1.AllocationResult {
	x := &resourcev1.AllocationResult{}
	for range b.Below(3) {
		r := resourcev1.DeviceRequestAllocationResult{Driver: "example.com", Pool: fmt.Sprint("n", b.Below(2)), Device: fmt.Sprint("d", b.Below(2))}
		switch kind := b.Below(7); kind {
		case 0, 1:
			r.ShareID = new(types.UID("share"))
		case 2, 3, 4:
			r.ShareID = new(types.UID("share"))
			r.ConsumedCapacity = capacities{[...]resourcev1.QualifiedName{"bw", "mem"}[kind%2]: *resource.NewQuantity(int64(kind), resource.DecimalSI)}
		case 5:
			if b.Below(2) == 0 {
				r.Device = "gone"
			} else {
				r.AdminAccess = new(true)
			}
		}
		x.Devices.Results = append(x.Devices.Results, r)
	}
	return x
}

// same counts allocations one by one and compares the sums with a ledger.
func same(t *testing.T, inventory *Inventory, held []*resourcev1.AllocationResult, l *Ledger) {
	t.Helper()
	dedicated, shares, measured, consumed := map[int32]int32{}, map[int32]int32{}, map[int32]int32{}, map[int32]map[resourcev1.QualifiedName]int64{}
	for _, x := range held {
		for k := range x.Devices.Results {
			r := &x.Devices.Results[k]
			at, ok := inventory.index[ID{r.Driver, r.Pool, r.Device}]
			switch {
			case !ok || r.AdminAccess != nil:
				continue
			case r.ShareID == nil:
				dedicated[at]++
				continue
			}
			shares[at]++
			if r.ConsumedCapacity == nil {
				continue
			}
			measured[at]++
			if consumed[at] == nil {
				consumed[at] = map[resourcev1.QualifiedName]int64{}
			}
			for name, q := range r.ConsumedCapacity {
				consumed[at][name] += q.Value()
			}
		}
	}
	for at := range int32(len(l.dedicated)) {
		if l.dedicated[at] != dedicated[at] || l.shares[at] != shares[at] || l.measured[at] != measured[at] {
			t.Fatalf("device %d: %d %d %d, want %d %d %d", at, l.dedicated[at], l.shares[at], l.measured[at], dedicated[at], shares[at], measured[at])
		}
		if (consumed[at] == nil) != (l.consumed[at] == nil) {
			t.Fatalf("device %d: %v, want %v", at, l.consumed[at], consumed[at])
		}
		for name, q := range l.consumed[at] {
			if q.Value() != consumed[at][name] {
				t.Fatalf("device %d: %s is %v, want %d", at, name, q.Value(), consumed[at][name])
			}
		}
	}
}
