package tracker

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
)

// Bound returns the claims that PreBind writes for a pod (rule U8.8): the claims of the allocation with their devices, and the
// pod's other claims with the pod in status.reservedFor. A claim that needs no change is left out. Claims that the API server
// does not have come last, without a UID, because PreBind creates them: a claim made from a template, and the special claim for
// extended resources. The special claim has no name either: the API server makes one from generateName.
//
// The error is v1.37's text for a claim that was deleted, allocated or deallocated since the decision, and for an allocation
// whose special claim has no requests (quirk U10.7). The pod must not be nil. Bound changes nothing.
func (o Objects) Bound(pod *v1.Pod, d devices.Allocation, now time.Time) ([]*resourcev1.ResourceClaim, error) {
	changed, created, err := o.writes(pod, d, now)
	return append(changed, created...), err
}

// writes returns the claims of Bound in two lists: the claims that the API server has, and the claims that somebody must create.
func (o Objects) writes(pod *v1.Pod, d devices.Allocation, now time.Time) (out, created []*resourcev1.ResourceClaim, err error) {
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
			x, err := newClaim(c, pod, &d, k, now)
			if err != nil {
				return nil, nil, err
			}
			created = append(created, x)
			continue
		}
		x, err := bound(latest(c.Namespace, c.Name), c, pod, &d.Results[k], now)
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
		if c != nil && slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID }) {
			continue
		}
		x, err := bound(c, &resourcev1.ResourceClaim{}, pod, nil, now)
		if err != nil {
			return nil, nil, fmt.Errorf("pod %s/%s, claim %s: %w", pod.Namespace, pod.Name, name, err)
		}
		out = append(out, x)
	}
	return out, created, nil
}

// bound returns what PreBind writes into one claim. decided is the claim that the decision was about; without a UID it may be
// any claim.
func bound(latest, decided *resourcev1.ResourceClaim, pod *v1.Pod, allocation *resourcev1.AllocationResult, now time.Time) (*resourcev1.ResourceClaim, error) {
	if latest == nil || decided.UID != "" && latest.UID != decided.UID {
		return nil, fmt.Errorf("claim %s/%s got deleted in the meantime", decided.Namespace, decided.Name)
	}
	return devices.Bound(latest, pod, allocation, now)
}

// newClaim returns claim k of an allocation as PreBind creates it.
func newClaim(c *resourcev1.ResourceClaim, pod *v1.Pod, d *devices.Allocation, k int, now time.Time) (*resourcev1.ResourceClaim, error) {
	out := c.DeepCopy()
	out.UID = ""
	if special(c) {
		if len(d.Mappings) == 0 {
			return nil, fmt.Errorf("nil or empty request mappings, no update of pod %s/%s ExtendedResourceClaimStatus", pod.Namespace, pod.Name)
		}
		out.Name = ""
	}
	return devices.Bound(out, pod, &d.Results[k], now)
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
