package tracker

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/podgroup"
)

// Tracker follows the devices of one cluster. New makes a Tracker; the zero value is not usable. Plans that place pods in the
// same cluster, such as those of several profiles, must share a Tracker, because the reservations are in it.
type Tracker struct {
	Objects
	cluster devices.Cluster
	log     changeLog // nil: a cluster without a log of claims
	at      uint64
	changes uint64 // of the reservations

	slices    []*resourcev1.ResourceSlice // that the inventory is of
	rules     []*resourcev1beta2.DeviceTaintRule
	inventory *devices.Inventory
	ledger    *devices.Ledger // nil: nothing was read yet
	extended  devices.ExtendedResources

	now         func() time.Time           // of the filters; nil: no clock
	groupClaims bool                       // of the filters
	reserved    map[types.UID]*reservation // by UID of the pod
	inFlight    map[string]*inFlight       // by flightKey of the claim
	touched     map[types.NamespacedName]*touched
	assumed     map[types.UID][]types.NamespacedName  // the claims in touched, by UID of the pod
	owned       map[owner][]*resourcev1.ResourceClaim // claims that were made for extended resources
}

// changeLog is the log of claims of a cluster; see [cluster.Snapshot].
type changeLog interface {
	ClaimVersion() uint64
	ClaimsSince(version uint64, yield func([]cluster.ClaimEvent)) bool
}

// New returns a tracker of a cluster and its objects, without reservations. A cluster with a log of claims, as [cluster.Snapshot] has, is followed; the objects
// of another cluster are read again at each question. The cluster must not be nil. New reads nothing.
func New(c devices.Cluster, o Objects) *Tracker {
	t := &Tracker{
		Objects: o, cluster: c, reserved: map[types.UID]*reservation{}, inFlight: map[string]*inFlight{},
		touched: map[types.NamespacedName]*touched{}, assumed: map[types.UID][]types.NamespacedName{},
	}
	t.log, _ = c.(changeLog)
	return t
}

// Fork returns a tracker with the same reservations over another cluster, such as a fork of the snapshot. Later changes of one
// do not show in the other. O(reservations); the first question of the fork reads the claims, and the slices if they differ.
func (t *Tracker) Fork(c devices.Cluster, o Objects) *Tracker {
	t.follow()
	f := New(c, o)
	f.now, f.groupClaims, f.slices, f.rules, f.inventory = t.now, t.groupClaims, t.slices, t.rules, t.inventory
	f.reserved = maps.Clone(t.reserved)
	for key, x := range t.inFlight {
		own := *x
		f.inFlight[key] = &own
	}
	for key, x := range t.touched {
		f.touched[key] = &touched{origin: x.origin, steps: slices.Clone(x.steps)}
	}
	for uid, keys := range t.assumed {
		f.assumed[uid] = slices.Clone(keys)
	}
	return f
}

// ClaimGroup returns the group of a pod when groups have claims ([Options.GroupClaims]), else nil. The pod must not be nil.
func (t *Tracker) ClaimGroup(pod *v1.Pod) *podgroup.Group {
	name, ok := podgroup.Of(pod)
	groups, has := t.cluster.(podgroup.Objects)
	if !ok || !has || !t.groupClaims {
		return nil
	}
	return groups.Group(pod.Namespace, name)
}

// Version returns a number that grows with every change of claims, slices, classes and reservations.
func (t *Tracker) Version() uint64 {
	if t.log == nil {
		return t.changes
	}
	return t.log.ClaimVersion() + t.changes
}

// InFlight reports whether an attempt has reserved devices for the claim with this UID, and the cluster has not shown an allocation
// since. As in v1.37 the flight ends with the first allocation: a claim that loses the allocation later is free again.
func (t *Tracker) InFlight(claim types.UID) bool {
	if t.log != nil {
		t.follow()
	}
	x := t.inFlight[string(claim)]
	return x != nil && !x.landed && claim != ""
}

// clock returns the time; the zero time without a clock.
func (t *Tracker) clock() time.Time {
	if t.now == nil {
		return time.Time{}
	}
	return t.now()
}

// follow brings the tracker up to date with the cluster.
func (t *Tracker) follow() {
	if t.log == nil {
		t.extended = t.ExtendedResources()
		t.readSlices()
		return
	}
	version := t.log.ClaimVersion()
	if t.ledger != nil && t.at == version {
		return
	}
	read := t.ledger == nil
	known := read || t.log.ClaimsSince(t.at, func(events []cluster.ClaimEvent) {
		for k := range events {
			if e := &events[k]; e.Old == nil && e.New == nil {
				read = true
			} else {
				t.move(e.Old, e.New)
			}
		}
	})
	t.at = version
	switch {
	case !known:
		t.untouchMissing()
		t.extended = t.ExtendedResources()
		t.readSlices()
	case read:
		t.extended = t.ExtendedResources()
		if t.ledger == nil || !t.sameSlices(slices.Collect(all(t.Slices)), slices.Collect(all(t.Rules))) {
			t.readSlices()
		}
	}
}

// sameSlices reports whether the inventory is of these slices and rules.
func (t *Tracker) sameSlices(now []*resourcev1.ResourceSlice, rules []*resourcev1beta2.DeviceTaintRule) bool {
	return slices.Equal(now, t.slices) && slices.Equal(rules, t.rules)
}

// readSlices makes inventory and ledger from all slices, claims and reservations. A fork takes over the inventory of its origin. An
// allocation that has landed stays so, as in move.
func (t *Tracker) readSlices() {
	now, rules := slices.Collect(all(t.Slices)), slices.Collect(all(t.Rules))
	if t.log == nil || t.inventory == nil || !t.sameSlices(now, rules) {
		t.slices, t.rules, t.inventory = now, rules, devices.NewInventory(now, rules...)
	}
	t.ledger, t.owned = devices.NewLedger(t.inventory), map[owner][]*resourcev1.ResourceClaim{}
	for c := range all(t.Claims) {
		t.own(c)
		t.ledger.Add(c, c.Status.Allocation)
		if x := t.inFlight[flightKey(c)]; x != nil && c.Status.Allocation != nil {
			x.landed = true
		}
	}
	for _, x := range t.inFlight {
		if !x.landed {
			t.ledger.Add(x.claim, x.allocation)
		}
	}
}

// move counts a changed claim.
func (t *Tracker) move(old, new *resourcev1.ResourceClaim) {
	if old != nil {
		t.disown(old)
		t.ledger.Remove(old, old.Status.Allocation)
	}
	if new != nil {
		t.own(new)
	}
	if new == nil || new.Status.Allocation == nil {
		t.untouch(keyOf(first(old, new)))
		return
	}
	t.ledger.Add(new, new.Status.Allocation)
	if x := t.inFlight[flightKey(new)]; x != nil && !x.landed {
		x.landed = true
		t.ledger.Remove(x.claim, x.allocation)
	}
}

func first(old, new *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	if old != nil {
		return old
	}
	return new
}

func keyOf(c *resourcev1.ResourceClaim) types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
}
