package podgroup

import (
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// Shares reports whether a claim of a pod is a claim of the pod's group: one of the group's claims has the same name and the same
// source. Such a claim is reserved for the group; every other claim is reserved for the pod. It counts with the gate Claims.
func (g *Group) Shares(claim *v1.PodResourceClaim) bool {
	for _, c := range g.Claims {
		if c.Name == claim.Name && c.ClaimName == text(claim.ResourceClaimName) && c.TemplateName == text(claim.ResourceClaimTemplateName) {
			return true
		}
	}
	return false
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Consumer returns the entry of status.reservedFor of a claim that is reserved for the group.
func (g *Group) Consumer() resourcev1.ResourceClaimConsumerReference {
	return resourcev1.ResourceClaimConsumerReference{APIGroup: consumerGroup, Resource: consumerResource, Name: g.Name, UID: g.UID}
}

const (
	consumerGroup    = "scheduling.k8s.io"
	consumerResource = "podgroups"
)

// ReservedFor reports whether a claim is reserved for the pod: by the UID of the pod, or with the gate Claims by the name of its group,
// whatever the UID is.
func ReservedFor(claim *resourcev1.ResourceClaim, pod *v1.Pod, g Gates) bool {
	group, has := Of(pod)
	for _, r := range claim.Status.ReservedFor {
		if r.UID == pod.UID || g.Claims && has && r.APIGroup == consumerGroup && r.Resource == consumerResource && r.Name == group {
			return true
		}
	}
	return false
}
