package filter

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// CompileClaims compiles a substitute for the filter DynamicResources, for callers that do not allocate devices (package
// devices does). The filter rejects a pod that needs dynamic resource allocation. Both verdicts have the bit
// resources.Unresolvable:
//
//  1. The pod has spec.resourceClaims. Every node is rejected.
//  2. The pod asks for an extended resource that a DeviceClass provides (FitOptions.DeviceResources). Nodes that offer none
//     of the resource are rejected.
//
// The filter skips other pods.
func CompileClaims(pod *v1.Pod, o FitOptions) Evaluator[Predicate] {
	claims := len(pod.Spec.ResourceClaims) > 0
	var devices []v1.ResourceName
	for _, r := range CompileFit(pod, o).requests {
		if r.device {
			devices = append(devices, r.resource)
		}
	}
	return &nodeRule{plugin: "DynamicResources", skip: !claims && len(devices) == 0,
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
