package overhead

import v1 "k8s.io/api/core/v1"

// Limits returns the most that the pod may use, as a new list: the same walk as Requests over limits, and with these
// differences. A resize counts the larger of desired and actuated, or the actuated alone when it is infeasible. Overhead is
// added to limits that exist and are not zero: it never makes a limit. A status.resources without limits leaves those of the
// pod as a whole as the spec has them. A container without a limit adds nothing, so a limit
// here does not say that every container has one; see Cgroup. Options.Missing is not read. Rules: documentation, "Pod
// Overhead", "Resize CPU and Memory Resources assigned to Containers".
// A nil pod has no limits.
func Limits(pod *v1.Pod, o Options) v1.ResourceList {
	if pod == nil {
		return v1.ResourceList{}
	}
	total := ofContainers(pod, o, effectiveLimits)
	if !o.IgnorePodLevel && pod.Spec.Resources != nil {
		podLevelLimits(total, pod, o)
	}
	if !o.IgnoreOverhead {
		for name, q := range pod.Spec.Overhead {
			if limit, ok := total[name]; ok && !limit.IsZero() {
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
			if resizeInfeasible(pod) {
				return s.Resources.Limits
			}
			return largest(c.Resources.Limits, s.Resources.Limits)
		}
	}
	return c.Resources.Limits
}

func podLevelLimits(total v1.ResourceList, pod *v1.Pod, o Options) {
	for name, spec := range pod.Spec.Resources.Limits {
		if !PodLevelSupported(name) {
			continue
		}
		q := spec.DeepCopy()
		if o.usePodStatus(pod) && pod.Status.Resources.Limits != nil {
			actuated, ok := pod.Status.Resources.Limits[name]
			if resizeInfeasible(pod) || ok && actuated.Cmp(q) > 0 {
				q = actuated.DeepCopy() // zero when it is not there
			}
		}
		total[name] = q
	}
}
