package tracker

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/podinfo"
)

// ErrReserved is the error of Reserve for a pod that has a reservation already, and for a claim that has changed since the
// decision. Decide again.
var ErrReserved = errors.New("devices are reserved already")

// reservation is what one pod has reserved.
type reservation struct {
	allocation devices.Allocation
	keys       []string // in inFlight
}

// inFlight is the allocation of a claim that the cluster does not show yet.
type inFlight struct {
	by         []*reservation // who holds it: one, or members of a group
	claim      *resourcev1.ResourceClaim
	allocation *resourcev1.AllocationResult
	landed     bool // the cluster has shown an allocation since
}

// flightKey identifies a claim. The special claim of a pod has the same key before and after the API server has it.
func flightKey(c *resourcev1.ResourceClaim) string {
	if special(c) {
		for k := range c.OwnerReferences {
			if o := &c.OwnerReferences[k]; o.Controller != nil && *o.Controller {
				return "extended/" + c.Namespace + "/" + o.Name + "/" + string(o.UID)
			}
		}
	}
	if c.UID != "" {
		return string(c.UID)
	}
	return "claim/" + c.Namespace + "/" + c.Name
}

// special reports whether a claim is made for the extended resources of a pod.
func special(c *resourcev1.ResourceClaim) bool {
	return c.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true"
}

// Reserve keeps the devices of an allocation for a pod, so that no other pod gets them, until Unreserve. In between, a pod that
// uses one of these claims is rejected as in v1.37. An empty allocation is no error and reserves nothing; with another
// allocation the pod must not be nil. When the error is [ErrReserved], nothing has changed:
//
//   - the pod has a reservation already,
//   - another pod has reserved one of the claims,
//   - a claim is gone, is another claim of that name, or is allocated.
func (t *Tracker) Reserve(pod *v1.Pod, d devices.Allocation) error { return t.reserve(pod, d, false) }

// ReserveMember is Reserve for a member of a group that was decided with others (rule PG8.4): a claim of the allocation may have been
// reserved for another member, with the same devices. They are kept until Unreserve of the last of these pods. Other devices are
// [ErrReserved].
func (t *Tracker) ReserveMember(pod *v1.Pod, d devices.Allocation) error {
	return t.reserve(pod, d, true)
}

func (t *Tracker) reserve(pod *v1.Pod, d devices.Allocation, member bool) error {
	if len(d.Claims) == 0 {
		return nil
	}
	t.follow()
	id := podinfo.UID(pod)
	if t.reserved[id] != nil {
		return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, ErrReserved)
	}
	r := &reservation{allocation: d}
	for k, c := range d.Claims {
		key := flightKey(c)
		if x := t.inFlight[key]; x != nil && !x.landed && !(member && reflect.DeepEqual(x.allocation, &d.Results[k])) {
			return fmt.Errorf("claim %s/%s: %w", c.Namespace, c.Name, ErrReserved)
		}
		if err := t.unchanged(c); err != nil {
			return err
		}
		r.keys = append(r.keys, key)
	}
	for k, key := range r.keys {
		if x := t.inFlight[key]; x != nil && !x.landed {
			if !slices.Contains(x.by, r) { // another member's
				x.by = append(slices.Clone(x.by), r)
				continue
			}
			t.ledger.Remove(x.claim, x.allocation) // the pod lists a claim twice: the last allocation counts, as in v1.37
		}
		t.inFlight[key] = &inFlight{by: []*reservation{r}, claim: d.Claims[k], allocation: &d.Results[k]}
		t.ledger.Add(d.Claims[k], &d.Results[k])
	}
	t.reserved[id] = r
	t.changes++
	return nil
}

// unchanged returns an error when a claim of a decision has got an allocation or is gone since the decision. A claim that the
// API server does not have yet must not exist.
func (t *Tracker) unchanged(c *resourcev1.ResourceClaim) error {
	latest := t.ResourceClaim(c.Namespace, c.Name)
	name := c.Namespace + "/" + c.Name
	switch {
	case isNew(c):
		if latest != nil {
			return fmt.Errorf("claim %s exists already: %w", name, ErrReserved)
		}
	case latest == nil || latest.UID != c.UID:
		return fmt.Errorf("claim %s got deleted in the meantime: %w", name, ErrReserved)
	case latest.Status.Allocation != nil:
		return fmt.Errorf("claim %s got allocated elsewhere in the meantime: %w", name, ErrReserved)
	}
	return nil
}

// Unreserve ends the reservation of a pod, and reports whether there was one. A nil pod has none. Call Unreserve when the pod
// cannot be bound, and also when the cluster shows the allocation.
func (t *Tracker) Unreserve(pod *v1.Pod) bool {
	if pod == nil {
		return false
	}
	t.follow()
	r := t.reserved[podinfo.UID(pod)]
	if r == nil {
		return false
	}
	delete(t.reserved, podinfo.UID(pod))
	for _, key := range r.keys {
		x := t.inFlight[key]
		if x == nil || !slices.Contains(x.by, r) { // another pod has reserved the claim since
			continue
		}
		if len(x.by) > 1 {
			x.by = slices.DeleteFunc(slices.Clone(x.by), func(y *reservation) bool { return y == r })
			continue
		}
		if !x.landed {
			t.ledger.Remove(x.claim, x.allocation)
		}
		delete(t.inFlight, key)
	}
	t.changes++
	return true
}

// Reserved returns what is reserved for a pod; false when nothing is. Nothing is reserved for a nil pod.
func (t *Tracker) Reserved(pod *v1.Pod) (devices.Allocation, bool) {
	if pod == nil {
		return devices.Allocation{}, false
	}
	r := t.reserved[podinfo.UID(pod)]
	if r == nil {
		return devices.Allocation{}, false
	}
	return r.allocation, true
}
