package devices

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/podgroup"
)

// GroupFreed lists what PostFilter frees for a group of pods that cannot be scheduled.
type GroupFreed struct {
	// Deallocate are claims whose allocations keep members from nodes, in the order in which v1.37 writes them (Deallocated).
	Deallocate []*resourcev1.ResourceClaim
	// Delete are the special claims that earlier attempts created for extended resources of members.
	Delete []*resourcev1.ResourceClaim
	// Unreserve is a claim of the group that loses the reservation of the group (Unreserved with the UID of the group). v1.37 does
	// not preempt for the group then. nil: there is none.
	Unreserve *resourcev1.ResourceClaim
	// Reason is v1.37's text.
	Reason string
}

// Member is a pod of an unschedulable group as [FreeGroup] sees it.
type Member struct {
	Pod *v1.Pod // not nil
	// State was asked about the nodes that the filters before it allow. nil: the pod needs no devices, or its claims reject it.
	State State
}

// errModified is the API server's error about an update of a claim that has changed meanwhile.
func errModified(claim string) error {
	//lint:ignore ST1005 the text is the API server's
	return fmt.Errorf("Operation cannot be fulfilled on resourceclaims.resource.k8s.io %q: the object has been modified; please apply your changes to the latest version and try again", claim)
}

// FreeGroup returns what v1.37 gives back when a group finds no place (rule PG8.6). members are the pods that v1.37 has tried, in order.
// group is nil without the feature gate DRAWorkloadResourceClaims, and for a group with a member on a node: claims of the group are then
// left alone. objects has the claims as they were before the group was tried; it must not be nil.
//
// Of several claims of a member that could be given back v1.37 takes any; tie chooses among n. nil: the first in the order of the pod.
//
// An error ends the attempt of the group: a claim of the group is missing or not made yet, or v1.37 would write a claim twice, which the
// API server refuses. What was given back before the error is in the result. O(members · their claims).
func FreeGroup(members []Member, group *podgroup.Group, objects Objects, tie func(n int) int) (GroupFreed, error) {
	r := groupRelease{members: members, objects: objects, tie: tie, written: map[types.UID]bool{}}
	err := r.release(group)
	return r.out, err
}

type groupRelease struct {
	members []Member
	objects Objects
	tie     func(n int) int
	written map[types.UID]bool
	out     GroupFreed
}

func (r *groupRelease) release(group *podgroup.Group) error {
	idle := false // a member has nothing to give back
	for _, m := range r.members {
		if done, err := r.member(m); err != nil {
			return err
		} else if !done {
			idle = true
		}
	}
	r.out.Reason = podgroup.TextClaims
	if group == nil || !idle {
		return nil
	}
	for _, m := range r.members {
		if c := r.unusable(m, group.UID); c != nil {
			r.out.Reason = podgroup.TextDeallocated
			return r.deallocate(c)
		}
	}
	return r.unreserve(group)
}

// member gives back what a member alone would, and reports whether there was something.
func (r *groupRelease) member(m Member) (bool, error) {
	if c := r.unusable(m, m.Pod.UID); c != nil {
		return true, r.deallocate(c)
	}
	if m.State == nil || m.State.own().leftOver() == nil {
		return false, nil
	}
	r.out.Delete = append(r.out.Delete, m.State.own().leftOver())
	return true, nil
}

// unusable returns a claim of a member that keeps it from a node and is reserved for nobody, or for the consumer alone; nil: there is none.
func (r *groupRelease) unusable(m Member, consumer types.UID) *resourcev1.ResourceClaim {
	if m.State == nil {
		return nil
	}
	var all []*resourcev1.ResourceClaim
	for _, c := range m.State.own().notUsable() {
		if before := r.objects.ResourceClaim(c.Namespace, c.Name); before != nil && freeFor(before, consumer) {
			all = append(all, before)
		}
	}
	switch {
	case len(all) == 0:
		return nil
	case len(all) == 1 || r.tie == nil:
		return all[0]
	}
	return all[r.tie(len(all))]
}

func (r *groupRelease) deallocate(c *resourcev1.ResourceClaim) error {
	if r.written[c.UID] {
		return errModified(c.Name)
	}
	r.written[c.UID] = true
	r.out.Deallocate = append(r.out.Deallocate, c)
	return nil
}

// unreserve finds the first claim of the group that is allocated and reserved for the group.
func (r *groupRelease) unreserve(group *podgroup.Group) error {
	for _, entry := range group.Claims {
		name := entry.ClaimName
		if entry.TemplateName != "" {
			if entry.Generated == nil {
				return fmt.Errorf("PodGroup %s/%s: %w", group.Namespace, group.Name, errNotCreated)
			}
			name = *entry.Generated
		}
		if name == "" {
			continue
		}
		c := r.objects.ResourceClaim(group.Namespace, name)
		if c == nil {
			return errMissing(group.Namespace, name)
		}
		if entry.TemplateName != "" && !metav1.IsControlledBy(c, group) {
			continue
		}
		if c.Status.Allocation != nil && reservedByName(c, group.Consumer()) {
			r.out.Unreserve, r.out.Reason = c, podgroup.TextUnreserved
			return nil
		}
	}
	return nil
}

// reservedByName reports whether a claim is reserved for a consumer, whatever the UID is.
func reservedByName(c *resourcev1.ResourceClaim, consumer resourcev1.ResourceClaimConsumerReference) bool {
	return slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool {
		r.UID = consumer.UID
		return r == consumer
	})
}

// freeFor reports whether a claim is reserved for nobody, or for the consumer alone.
func freeFor(c *resourcev1.ResourceClaim, consumer types.UID) bool {
	r := c.Status.ReservedFor
	return len(r) == 0 || len(r) == 1 && r[0].UID == consumer
}

// notUsable returns the pod's claims whose allocations keep the pod from a node that Check was called for, in the pod's order.
func (s *state) notUsable() (out []*resourcev1.ResourceClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.pod.claims {
		if c := s.pod.claims[k].object; s.unusable[c] && c != s.pod.special {
			out = append(out, c)
		}
	}
	return out
}
