package devices

import (
	"errors"
	"fmt"
	"iter"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/podgroup"
)

// Objects returns the objects of a cluster that the rules look up.
type Objects interface {
	// ResourceClaim returns a claim as the API server has it, nil when the claim does not exist.
	ResourceClaim(namespace, name string) *resourcev1.ResourceClaim
	// ResourceClaims yields the claims of a namespace.
	ResourceClaims(namespace string) iter.Seq[*resourcev1.ResourceClaim]
	// InFlight reports whether an attempt has reserved devices for the claim with this UID and the API server does not have
	// the allocation yet.
	InFlight(claim types.UID) bool
	// DeviceClass returns a device class, nil when the class does not exist.
	DeviceClass(name string) *resourcev1.DeviceClass
}

// PodClaims returns the claims of spec.resourceClaims in the pod's order (rule U1.6). It leaves out an entry made from a
// template when the pod's status says that the entry needs no claim. The error is v1.37's text about the first claim that
// is missing, is being deleted or belongs to another pod. Objects may have a method ClaimGroup(*v1.Pod) *podgroup.Group: the pod's group
// when groups have claims, whose claims are the pod's too. The pod must not be nil. objects may be nil for a pod without
// claims.
func PodClaims(pod *v1.Pod, objects Objects) ([]*resourcev1.ResourceClaim, error) {
	var out []*resourcev1.ResourceClaim
	for k := range pod.Spec.ResourceClaims {
		entry := &pod.Spec.ResourceClaims[k]
		name, err := ClaimName(pod, entry)
		if err != nil {
			return nil, err
		}
		if name == "" {
			continue
		}
		claim := objects.ResourceClaim(pod.Namespace, name)
		switch {
		case claim == nil:
			return nil, errMissing(pod.Namespace, name)
		case claim.DeletionTimestamp != nil:
			return nil, fmt.Errorf("resourceclaim %q is being deleted", name)
		case entry.ResourceClaimName == nil && !metav1.IsControlledBy(claim, pod):
			group := claimGroup(pod, objects)
			if group == nil {
				return nil, fmt.Errorf("ResourceClaim %s/%s was not created for Pod %s/%s (Pod is not owner)", claim.Namespace, claim.Name, pod.Namespace, pod.Name)
			}
			if !metav1.IsControlledBy(claim, group) {
				return nil, fmt.Errorf("ResourceClaim %s/%s was not created for Pod %s/%s (neither Pod nor PodGroup %s is the owner)", claim.Namespace, claim.Name, pod.Namespace, pod.Name, group.Name)
			}
		}
		out = append(out, claim)
	}
	return out, nil
}

func errMissing(namespace, name string) error {
	return fmt.Errorf("could not find ResourceClaim %q", namespace+"/"+name)
}

// claimGroup returns the group of a pod when groups have claims.
func claimGroup(pod *v1.Pod, objects Objects) *podgroup.Group {
	if o, ok := objects.(interface {
		ClaimGroup(pod *v1.Pod) *podgroup.Group
	}); ok {
		return o.ClaimGroup(pod)
	}
	return nil
}

// ClaimName returns the name of the claim of an entry of spec.resourceClaims, "" when the pod's status says that the entry needs no claim.
// The error is v1.37's text about a claim that does not exist yet, or an entry that names none. Neither pod nor entry may be nil.
func ClaimName(pod *v1.Pod, entry *v1.PodResourceClaim) (string, error) {
	switch {
	case entry.ResourceClaimName != nil:
		return *entry.ResourceClaimName, nil
	case entry.ResourceClaimTemplateName == nil:
		return "", fmt.Errorf("pod %q, spec.resourceClaim %q: none of the supported fields are set", pod.Namespace+"/"+pod.Name, entry.Name)
	}
	for k := range pod.Status.ResourceClaimStatuses {
		if s := &pod.Status.ResourceClaimStatuses[k]; s.Name == entry.Name {
			if s.ResourceClaimName == nil {
				return "", nil
			}
			return *s.ResourceClaimName, nil
		}
	}
	return "", fmt.Errorf("pod %q: %w", pod.Namespace+"/"+pod.Name, errNotCreated)
}

var errNotCreated = errors.New("ResourceClaim not created yet")

// ClaimFromTemplate returns the claim that the resource claim controller makes for an entry of spec.resourceClaims (rule
// U1.8). The API server appends five random characters to the name; ClaimFromTemplate appends suffix. Neither pod
// nor template may be nil.
func ClaimFromTemplate(pod *v1.Pod, entry string, template *resourcev1.ResourceClaimTemplate, suffix string) *resourcev1.ResourceClaim {
	base := generatedName(pod.Name, entry)
	yes := true
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: base, Name: base + suffix, Namespace: pod.Namespace, UID: types.UID(base + suffix),
			Annotations:     map[string]string{"resource.kubernetes.io/pod-claim-name": entry},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &yes}},
		},
		Spec: *template.Spec.Spec.DeepCopy(),
	}
	for k, v := range template.Spec.Annotations {
		claim.Annotations[k] = v
	}
	for k, v := range template.Spec.Labels {
		if claim.Labels == nil {
			claim.Labels = map[string]string{}
		}
		claim.Labels[k] = v
	}
	return claim
}

// generatedName returns "POD-ENTRY-". A result longer than 57 bytes is shortened: both parts in proportion.
func generatedName(pod, entry string) string {
	const limit = 57
	name := pod + "-" + entry + "-"
	if n := len(name); n > limit {
		return pod[:len(pod)*limit/n] + "-" + entry[:len(entry)*limit/n]
	}
	return name
}
