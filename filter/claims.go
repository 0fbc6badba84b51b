package filter

import (
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// CompileClaims compiles a stand-in for the filter DynamicResources. This library does not allocate devices, so the filter
// rejects a pod that needs dynamic resource allocation, with a reason that says so. A caller with an allocator puts another
// predicate in its place. Both verdicts have the bit resources.Unresolvable:
//
//  1. The pod has spec.resourceClaims: every node is rejected.
//  2. The pod asks for an extended resource that a DeviceClass provides (FitOptions.DeviceResources): nodes that offer none
//     of the resource are rejected.
func CompileClaims(pod *v1.Pod, o FitOptions) *NodeRule {
	claims := len(pod.Spec.ResourceClaims) > 0
	var devices []v1.ResourceName
	for _, r := range CompileFit(pod, o).requests {
		if r.device {
			devices = append(devices, r.resource)
		}
	}
	return &NodeRule{plugin: "DynamicResources", skip: !claims && len(devices) == 0,
		texts: []string{
			"pod has resourceClaims: dynamic resource allocation is outside the library",
			"extended resource comes from a DeviceClass: dynamic resource allocation is outside the library",
		},
		check: func(node *v1.Node) resources.Verdict {
			if claims {
				return 1 | resources.Unresolvable
			}
			for _, name := range devices {
				if q, ok := node.Status.Allocatable[name]; !ok || resources.Value(name, q) == 0 {
					return 2 | resources.Unresolvable
				}
			}
			return 0
		}}
}

// ClaimsError returns an error that names the pod's spec.resourceClaims, and nil for a pod without claims.
func ClaimsError(pod *v1.Pod) error {
	if len(pod.Spec.ResourceClaims) == 0 {
		return nil
	}
	names := make([]string, len(pod.Spec.ResourceClaims))
	for k, c := range pod.Spec.ResourceClaims {
		names[k] = c.Name
	}
	return errors.New("spec.resourceClaims [" + strings.Join(names, " ") + "]: dynamic resource allocation is outside podberth")
}
