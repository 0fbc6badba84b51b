package overhead

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/release"
)

// This file has the differences between releases in what a pod holds while it is resized.

// podStatusCounts reports whether status.resources of the pod counts, as since v1.36 (rule L4.2).
func podStatusCounts(v release.Version) bool { return v.AtLeast(release.V1_36) }

// sumsFirst reports whether the largest of three sums over the pod counts, as in v1.37, and not the sum of the largest amounts of
// each container (rule L4.1).
func sumsFirst(v release.Version) bool { return v.AtLeast(release.V1_37) }

// resizedRequests is Requests of v1.37: the largest of three sums, each over all containers, plain init containers included
// (rules L4.1 and L4.3):
//
//  1. the spec, unless the resize is infeasible,
//  2. what is allocated, where known, else the spec,
//  3. what is in use, where known, else what is allocated, else the spec.
//
// The spec does not stand for a missing amount when the resize is infeasible. When the pod's status has both what is allocated and
// what is in use, these two stand for the second and the third sum. If spec.resources names a resource, the largest amount of spec and
// status at pod level then replaces the result, for each resource that one of them names (rule L4.2).
func resizedRequests(pod *v1.Pod, o Options) v1.ResourceList {
	of, whole := summed(pod, o)
	total := largest(whole[:]...)
	for _, x := range of {
		raise(total, ofContainers(pod, o, x.effective))
	}
	for name, q := range podLevelHeld(pod, o) {
		total[name] = q
	}
	if !o.IgnoreOverhead {
		add(total, pod.Spec.Overhead)
	}
	return total
}

// amounts says with which amounts the containers count in a sum.
type amounts uint8

const (
	ofAllocated amounts = iota
	ofUsed
	ofSpec
)

// resizedSums are the three sums of resizedRequests.
var resizedSums = [...]amounts{ofAllocated, ofUsed, ofSpec}

// summed returns the sums over the containers, and the lists of the pod's status that stand for the other sums; nil lists stand for none.
func summed(pod *v1.Pod, o Options) (of []amounts, whole [2]v1.ResourceList) {
	of = resizedSums[:]
	if status := pod.Status.Resources; !o.IgnorePodStatus && status != nil && status.Requests != nil && pod.Status.AllocatedResources != nil {
		of, whole = resizedSums[2:], [...]v1.ResourceList{pod.Status.AllocatedResources, status.Requests}
	}
	if podinfo.ResizeInfeasible(pod) {
		of = of[:len(of)-1]
	}
	return of, whole
}

// list returns the amounts of a container; infeasible says that the resize is infeasible.
func (of amounts) list(c *v1.Container, s *v1.ContainerStatus, infeasible bool) v1.ResourceList {
	switch {
	case of == ofUsed && s != nil && s.Resources != nil && s.Resources.Requests != nil:
		return s.Resources.Requests
	case of != ofSpec && s != nil && s.AllocatedResources != nil:
		return s.AllocatedResources
	case of != ofSpec && infeasible:
		return nil
	}
	return c.Resources.Requests
}

// effective returns what a container counts with, in the form that ofContainers takes.
func (of amounts) effective(pod *v1.Pod, c *v1.Container, _ bool, o Options) v1.ResourceList {
	return withMissing(of.list(c, statusOf(pod, c.Name), podinfo.ResizeInfeasible(pod)), o)
}

// resizedLimits returns the limits of the containers in v1.37: the larger of the sum over the spec, unless the resize is infeasible,
// and the sum over the actuated limits, where known, else those of the spec (rule L4.1). The limits of the pod's status stand for the
// second sum.
func resizedLimits(pod *v1.Pod, o Options) v1.ResourceList {
	infeasible := podinfo.ResizeInfeasible(pod)
	spec := func(_ *v1.Pod, c *v1.Container, _ bool, _ Options) v1.ResourceList { return c.Resources.Limits }
	actuated := func(pod *v1.Pod, c *v1.Container, _ bool, _ Options) v1.ResourceList {
		switch s := statusOf(pod, c.Name); {
		case s != nil && s.Resources != nil && s.Resources.Limits != nil:
			return s.Resources.Limits
		case infeasible:
			return nil
		}
		return c.Resources.Limits
	}
	total := ofContainers(pod, o, actuated)
	if status := pod.Status.Resources; !o.IgnorePodStatus && status != nil && status.Limits != nil {
		total = largest(status.Limits)
	}
	if infeasible {
		return total
	}
	return largest(total, ofContainers(pod, o, spec))
}

// podLevelHeld returns what counts for the resources of spec.resources and of the pod's status; nil when spec.resources has no requests.
func podLevelHeld(pod *v1.Pod, o Options) v1.ResourceList {
	if o.IgnorePodLevel || !podLevelRequests(pod) {
		return nil
	}
	lists := []v1.ResourceList{pod.Spec.Resources.Requests}
	if o.usePodStatus(pod) {
		if podinfo.ResizeInfeasible(pod) {
			lists = nil
		}
		lists = append(lists, pod.Status.Resources.Requests, pod.Status.AllocatedResources)
	}
	return podLevelOnly(largest(lists...))
}

// podLevelHeldLimits returns the limits of spec.resources and of the pod's status, the larger of both, or those of the status alone
// when the resize is infeasible (rule L4.2). There are none when spec.resources names nothing that a pod can ask for as a whole.
func podLevelHeldLimits(pod *v1.Pod) v1.ResourceList {
	if !podLevelRequests(pod) && !anySupported(pod.Spec.Resources.Limits) {
		return nil
	}
	out := largest(pod.Status.Resources.Limits)
	if !podinfo.ResizeInfeasible(pod) {
		out = largest(out, pod.Spec.Resources.Limits)
	}
	return podLevelOnly(out)
}

// podLevelOnly removes the resources that pods cannot ask for as a whole.
func podLevelOnly(list v1.ResourceList) v1.ResourceList {
	for name := range list {
		if !PodLevelSupported(name) {
			delete(list, name)
		}
	}
	return list
}
