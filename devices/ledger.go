package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Ledger counts what the allocations of all claims take of an inventory (rule U2.1): dedicated devices, shares of devices,
// and the capacity that shares consume. Results with admin access count nothing. Devices that the inventory does not list
// are ignored.
//
// Remove undoes Add, in any order of calls: a Ledger always equals a fresh count of the claims that it holds. It keeps the
// claims and their allocations, which must not change, so that an explanation can name them. A Ledger may be read by several
// goroutines while nobody changes it.
type Ledger struct {
	inventory *Inventory
	dedicated []int32 // by device: number of allocations that hold the whole device
	shares    []int32 // by device: number of shares
	measured  []int32 // by device: number of shares that consume capacity
	consumed  map[int32]capacities
	first     []int32 // by device: place of its first holder in holders, from 1; 0: none
	holders   []holder
	unused    int32    // place of the first free entry of holders, from 1; 0: none
	revisions []uint64 // by group.at: grows with each change of what the pool's devices hold
	touched   []int32  // group.at of the pools whose devices changed, the latest last
	forgotten uint64   // entries dropped from the front of touched
}

type capacities = map[resourcev1.QualifiedName]resource.Quantity

// NewLedger returns the ledger of claims over an inventory. Claims without status.allocation count nothing.
// Neither the inventory nor a claim may be nil.
func NewLedger(inventory *Inventory, claims ...*resourcev1.ResourceClaim) *Ledger {
	n := len(inventory.index)
	l := &Ledger{inventory: inventory, dedicated: make([]int32, n), shares: make([]int32, n), measured: make([]int32, n), first: make([]int32, n), consumed: map[int32]capacities{}, revisions: make([]uint64, len(inventory.pools))}
	for _, c := range claims {
		l.Add(c, c.Status.Allocation)
	}
	return l
}

// Add counts an allocation of a claim. An allocation that the claim does not have in its status is in flight. Add ignores a nil
// allocation. The holder of an allocation without a claim has no name in explanations.
func (l *Ledger) Add(claim *resourcev1.ResourceClaim, allocation *resourcev1.AllocationResult) {
	l.count(claim, allocation, 1)
}

// Remove takes back an allocation that Add counted for the claim. It ignores a nil allocation.
func (l *Ledger) Remove(claim *resourcev1.ResourceClaim, allocation *resourcev1.AllocationResult) {
	l.count(claim, allocation, -1)
}

func (l *Ledger) count(claim *resourcev1.ResourceClaim, allocation *resourcev1.AllocationResult, n int32) {
	if allocation == nil {
		return
	}
	latest := int32(-1)
	for k := range allocation.Devices.Results {
		r := &allocation.Devices.Results[k]
		at, ok := l.inventory.index[ID{r.Driver, r.Pool, r.Device}]
		if !ok || r.AdminAccess != nil && *r.AdminAccess {
			continue
		}
		pool := l.inventory.poolOf[at]
		l.revisions[pool]++
		if pool != latest {
			latest = pool
			l.touch(pool)
		}
		if n > 0 {
			l.hold(at, claim, r)
		} else {
			l.release(at, claim)
		}
		if r.ShareID == nil {
			l.dedicated[at] += n
			continue
		}
		l.shares[at] += n
		l.measure(at, r.ConsumedCapacity, n)
	}
}

// maxTouched bounds the memory of changed pools.
const maxTouched = 1 << 16

func (l *Ledger) touch(pool int32) {
	if len(l.touched) >= maxTouched {
		half := len(l.touched) / 2
		l.touched = append(l.touched[:0], l.touched[half:]...)
		l.forgotten += uint64(half)
	}
	l.touched = append(l.touched, pool)
}

func (l *Ledger) measure(at int32, capacity capacities, n int32) {
	if capacity == nil {
		return
	}
	if l.measured[at] += n; l.measured[at] <= 0 {
		delete(l.consumed, at)
		return
	}
	sum := l.consumed[at]
	if sum == nil {
		sum = capacities{}
		l.consumed[at] = sum
	}
	for name, amount := range capacity {
		q := sum[name]
		if n > 0 {
			q.Add(amount)
		} else {
			q.Sub(amount)
		}
		sum[name] = q
	}
}

// allocated reports whether an allocation holds the device or a share of it (rule U2.1).
func (l *Ledger) allocated(at int32) bool {
	return l.dedicated[at] > 0 || l.shares[at] > 0
}
