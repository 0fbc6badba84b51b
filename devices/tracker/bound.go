package tracker

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/podgroup"
)

// Bound returns the claims that PreBind writes for a pod (rule U8.8): the claims of the allocation with their devices, and the
// pod's other claims with the pod in status.reservedFor. A claim that needs no change is left out. Claims that the API server
// does not have come last, without a UID, because PreBind creates them: a claim made from a template, and the special claim for
// extended resources. The special claim has no name either: the API server makes one from generateName.
//
// The error is v1.37's text for a claim that was deleted, allocated or deallocated since the decision, and for an allocation
// whose special claim has no requests (quirk U10.7). The pod must not be nil. Bound changes nothing.
func (o Objects) Bound(pod *v1.Pod, d devices.Allocation, now time.Time) ([]*resourcev1.ResourceClaim, error) {
	changed, created, err := o.writes(pod, o.ClaimGroup(pod), d, now)
	return append(changed, created...), err
}

// BoundClaim returns what Bound writes into one claim of the pod, from its latest version. allocation is what the attempt reserved; nil:
// the claim was allocated before. The error is that of Bound. Neither the claim nor the pod may be nil.
func (o Objects) BoundClaim(latest *resourcev1.ResourceClaim, pod *v1.Pod, allocation *resourcev1.AllocationResult, now time.Time) (*resourcev1.ResourceClaim, error) {
	return reserve(latest, pod, o.ClaimGroup(pod), allocation, now)
}

// Bound is [Objects.Bound]; with [Options.GroupClaims] claims of the pod's group are reserved for the group (rule PG8.1).
func (t *Tracker) Bound(pod *v1.Pod, d devices.Allocation, now time.Time) ([]*resourcev1.ResourceClaim, error) {
	changed, created, err := t.writes(pod, t.ClaimGroup(pod), d, now)
	return append(changed, created...), err
}

// writes returns the claims of Bound in two lists: the claims that the API server has, and the claims that somebody must create.
func (o Objects) writes(pod *v1.Pod, group *podgroup.Group, d devices.Allocation, now time.Time) (out, created []*resourcev1.ResourceClaim, err error) {
	latest := func(namespace, name string) *resourcev1.ResourceClaim {
		for _, c := range out {
			if c.Namespace == namespace && c.Name == name {
				return c // the pod lists the claim twice
			}
		}
		return o.ResourceClaim(namespace, name)
	}
	given := map[types.NamespacedName]bool{}
	for k, c := range d.Claims {
		given[keyOf(c)] = true
		if isNew(c) {
			x, err := newClaim(c, pod, group, &d, k, now)
			if err != nil {
				return nil, nil, err
			}
			created = append(created, x)
			continue
		}
		x, err := bound(latest(c.Namespace, c.Name), c, pod, group, &d.Results[k], now)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, x)
	}
	for k := range pod.Spec.ResourceClaims {
		name := claimName(pod, &pod.Spec.ResourceClaims[k])
		key := types.NamespacedName{Namespace: pod.Namespace, Name: name}
		if name == "" || given[key] {
			continue
		}
		given[key] = true
		c := o.ResourceClaim(pod.Namespace, name)
		if c != nil && podgroup.ReservedFor(c, pod, podgroup.Gates{Claims: group != nil}) {
			continue
		}
		x, err := bound(c, &resourcev1.ResourceClaim{}, pod, group, nil, now)
		if err != nil {
			return nil, nil, fmt.Errorf("pod %s/%s, claim %s: %w", pod.Namespace, pod.Name, name, err)
		}
		out = append(out, x)
	}
	return out, created, nil
}

// bound returns what PreBind writes into one claim. decided is the claim that the decision was about; without a UID it may be
// any claim.
func bound(latest, decided *resourcev1.ResourceClaim, pod *v1.Pod, group *podgroup.Group, allocation *resourcev1.AllocationResult, now time.Time) (*resourcev1.ResourceClaim, error) {
	if latest == nil || decided.UID != "" && latest.UID != decided.UID {
		return nil, fmt.Errorf("claim %s/%s got deleted in the meantime", decided.Namespace, decided.Name)
	}
	return reserve(latest, pod, group, allocation, now)
}

// newClaim returns claim k of an allocation as PreBind creates it.
func newClaim(c *resourcev1.ResourceClaim, pod *v1.Pod, group *podgroup.Group, d *devices.Allocation, k int, now time.Time) (*resourcev1.ResourceClaim, error) {
	out := c.DeepCopy()
	out.UID = ""
	if special(c) {
		if len(d.Mappings) == 0 {
			return nil, fmt.Errorf("nil or empty request mappings, no update of pod %s/%s ExtendedResourceClaimStatus", pod.Namespace, pod.Name)
		}
		out.Name = ""
	}
	return reserve(out, pod, group, &d.Results[k], now)
}

// reserve returns a claim with its reservation: for the group if the group has a claim of the same name and source as the pod, else for the
// pod.
func reserve(c *resourcev1.ResourceClaim, pod *v1.Pod, group *podgroup.Group, allocation *resourcev1.AllocationResult, now time.Time) (*resourcev1.ResourceClaim, error) {
	for k := range pod.Spec.ResourceClaims {
		if e := &pod.Spec.ResourceClaims[k]; group != nil && c.Name != "" && claimName(pod, e) == c.Name && group.Shares(e) {
			return devices.BoundFor(c, group.Consumer(), allocation, now)
		}
	}
	return devices.Bound(c, pod, allocation, now)
}

// claimName returns the name of an entry's claim; empty when the entry needs no claim or has none yet.
func claimName(pod *v1.Pod, e *v1.PodResourceClaim) string {
	if e.ResourceClaimName != nil {
		return *e.ResourceClaimName
	}
	if s := statusOf(pod, e.Name); s != nil && s.ResourceClaimName != nil {
		return *s.ResourceClaimName
	}
	return ""
}
