package overhead

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// Limits returns the most that the pod may use, as a new list. Limits are summed like [Requests], with these differences:
//
//   - In a resize the larger of desired and actuated limits counts, and the actuated limit alone when the resize is
//     infeasible.
//   - Overhead is added to limits that exist and are not zero. It never makes a limit.
//   - When status.resources has no limits, the pod-level limits of the spec count.
//   - [Options.Missing] has no effect.
//
// A container without a limit adds nothing. So a limit in the result does not mean that every container has a limit (package
// overhead/kubelet, PodCgroup). Rules: documentation, "Pod Overhead", "Resize CPU and Memory Resources assigned to
// Containers". A nil pod has no limits.
func Limits(pod *v1.Pod, o Options) v1.ResourceList {
	if pod == nil {
		return v1.ResourceList{}
	}
	var total v1.ResourceList
	if o.UseStatus && sumsFirst(o.Release) {
		total = resizedLimits(pod, o)
	} else {
		total = ofContainers(pod, o, effectiveLimits)
	}
	if !o.IgnorePodLevel && pod.Spec.Resources != nil {
		podLevelLimits(total, pod, o)
	}
	if !o.IgnoreOverhead {
		for name, q := range pod.Spec.Overhead {
			if limit := total[name]; !limit.IsZero() {
				limit.Add(q)
				total[name] = limit
			}
		}
	}
	return total
}

func effectiveLimits(pod *v1.Pod, c *v1.Container, plainInit bool, o Options) v1.ResourceList {
	if o.UseStatus && !plainInit {
		if s := statusOf(pod, c.Name); s != nil && s.Resources != nil {
			if podinfo.ResizeInfeasible(pod) {
				return s.Resources.Limits
			}
			return largest(c.Resources.Limits, s.Resources.Limits)
		}
	}
	return c.Resources.Limits
}

func podLevelLimits(total v1.ResourceList, pod *v1.Pod, o Options) {
	if o.usePodStatus(pod) && sumsFirst(o.Release) {
		for name, q := range podLevelHeldLimits(pod) {
			total[name] = q
		}
		return
	}
	for name, spec := range pod.Spec.Resources.Limits {
		if !PodLevelSupported(name) {
			continue
		}
		q := spec.DeepCopy()
		if o.usePodStatus(pod) && pod.Status.Resources.Limits != nil {
			actuated, ok := pod.Status.Resources.Limits[name]
			if podinfo.ResizeInfeasible(pod) || ok && actuated.Cmp(q) > 0 {
				q = actuated.DeepCopy() // zero when the list does not name the resource
			}
		}
		total[name] = q
	}
}
