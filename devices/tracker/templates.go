package tracker

import (
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/devices"
)

// madeSuffix replaces the five random characters that the API server appends to the name of a generated claim.
const madeSuffix = "made"

// made returns a copy of the pod and objects in which all claims from templates exist, and nil objects when nothing is missing
// or a template does not exist.
func (t *Tracker) made(pod *v1.Pod) (*v1.Pod, devices.Objects) {
	claims := t.Made(pod)
	if len(claims) == 0 {
		return nil, nil
	}
	out := *pod
	out.Status.ResourceClaimStatuses = append([]v1.PodResourceClaimStatus(nil), pod.Status.ResourceClaimStatuses...)
	for entry, c := range claims {
		out.Status.ResourceClaimStatuses = append(out.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: entry, ResourceClaimName: &c.Name})
	}
	return &out, withMade{t, claims}
}

// Made returns the claims of the pod that do not exist yet, made from their templates, by the name of the entry in
// spec.resourceClaims. An entry is left out when the pod's status has it, and when its template does not exist.
func (t *Tracker) Made(pod *v1.Pod) map[string]*resourcev1.ResourceClaim {
	var out map[string]*resourcev1.ResourceClaim
	for k := range pod.Spec.ResourceClaims {
		e := &pod.Spec.ResourceClaims[k]
		if e.ResourceClaimName != nil || e.ResourceClaimTemplateName == nil || statusOf(pod, e.Name) != nil {
			continue
		}
		if template := get(t.Templates, pod.Namespace, *e.ResourceClaimTemplateName); template != nil {
			if out == nil {
				out = map[string]*resourcev1.ResourceClaim{}
			}
			out[e.Name] = devices.ClaimFromTemplate(pod, e.Name, template, madeSuffix)
		}
	}
	return out
}

func statusOf(pod *v1.Pod, entry string) *v1.PodResourceClaimStatus {
	for k := range pod.Status.ResourceClaimStatuses {
		if s := &pod.Status.ResourceClaimStatuses[k]; s.Name == entry {
			return s
		}
	}
	return nil
}

// isNew reports whether the API server does not have a claim of a decision: a claim made from a template, or the special claim
// for extended resources.
func isNew(c *resourcev1.ResourceClaim) bool {
	return c.UID == "" && special(c) || c.GenerateName != "" && string(c.UID) == c.Name
}

// withMade is a tracker with further claims.
type withMade struct {
	*Tracker
	claims map[string]*resourcev1.ResourceClaim
}

// ResourceClaim returns a claim of the cluster, else a claim made from a template, else nil.
func (m withMade) ResourceClaim(namespace, name string) *resourcev1.ResourceClaim {
	if c := m.Tracker.ResourceClaim(namespace, name); c != nil {
		return c
	}
	for _, c := range m.claims {
		if c.Namespace == namespace && c.Name == name {
			return c
		}
	}
	return nil
}
