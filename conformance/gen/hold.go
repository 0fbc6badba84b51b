package gen

import (
	"maps"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Hold lets a running pod of each node wait for a resize to all the cpu that is free on the node, so that no pod that asks for cpu has room. The pod
// has at most the given priority, and is none of the owner's of Team.
func Hold(c *Cluster, priority int32) (held int) {
	for _, n := range c.Nodes {
		free := n.Status.Allocatable.Cpu().MilliValue()
		var holds *v1.Pod
		for _, p := range c.Pods {
			if p.Spec.NodeName != n.Name {
				continue
			}
			for _, x := range p.Spec.Containers {
				free -= x.Resources.Requests.Cpu().MilliValue()
			}
			if !strings.HasPrefix(p.Name, "own-") && p.Spec.Resources == nil && len(p.Spec.InitContainers) == 0 && p.DeletionTimestamp == nil && (p.Spec.Priority == nil || *p.Spec.Priority <= priority) {
				holds = p
			}
		}
		if holds == nil || free <= 0 {
			continue
		}
		x := &holds.Spec.Containers[0]
		has := x.Resources.Requests.DeepCopy()
		if has == nil {
			has = v1.ResourceList{}
		}
		if has.Cpu().IsZero() { // a resize keeps the class of service
			has[v1.ResourceCPU] = *resource.NewMilliQuantity(1, resource.DecimalSI)
		}
		x.Resources.Requests = maps.Clone(has)
		x.Resources.Requests[v1.ResourceCPU] = *resource.NewMilliQuantity(has.Cpu().MilliValue()+free, resource.DecimalSI)
		x.Resources.Limits = nil
		holds.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonDeferred}}
		holds.Status.ContainerStatuses = []v1.ContainerStatus{{Name: x.Name, AllocatedResources: has, Resources: &v1.ResourceRequirements{Requests: has}}}
		held++
	}
	return held
}
