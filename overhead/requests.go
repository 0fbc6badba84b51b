package overhead

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/release"
)

// Options selects a variant of a pod's requests or limits. The zero value gives what filters use for an incoming pod: the
// spec without the status, with pod-level resources and with pod overhead.
type Options struct {
	// UseStatus counts what a bound pod holds on its node while the pod is resized in place: for each resource the largest
	// of the desired, actuated and allocated amounts. The desired amount does not count when the resize is infeasible. When
	// the status has no resources, the spec counts.
	UseStatus bool
	// IgnorePodLevel leaves spec.resources out.
	IgnorePodLevel bool
	// IgnorePodStatus leaves out status.resources and status.allocatedResources of the pod, as resource quota does. The
	// statuses of containers still count when UseStatus is set.
	IgnorePodStatus bool
	// IgnoreOverhead leaves spec.overhead out.
	IgnoreOverhead bool
	// Missing has the amounts for containers, init containers and sidecars that do not name a resource. An explicit zero
	// stays zero. Limits never read Missing.
	Missing v1.ResourceList
	// Release is the release by whose rule UseStatus counts a pod that is being resized (rules L4.1 to L4.3).
	Release release.Version
}

// usePodStatus reports whether the status of the pod as a whole counts.
func (o Options) usePodStatus(pod *v1.Pod) bool {
	return o.UseStatus && !o.IgnorePodStatus && pod.Status.Resources != nil && podStatusCounts(o.Release)
}

// Requests returns what the pod asks of a node, as a new list:
//
//  1. the sum over the containers and sidecars (init containers with restartPolicy Always),
//  2. raised per resource to the largest need while starting: an init container together with the sidecars declared
//     before it,
//  3. replaced by spec.resources.requests for the cpu, memory and huge pages that it names,
//  4. plus spec.overhead.
//
// Quantities are added exactly, negative ones included, and are not rounded. Ephemeral containers never count. A pod without
// the API server's defaults may ask for less ([Default]). A nil pod is an empty pod. Rules: documentation, "Resource sharing
// within containers" (sidecar containers), "Pod Overhead", "Pod-level resources".
func Requests(pod *v1.Pod, o Options) v1.ResourceList {
	if pod == nil {
		return v1.ResourceList{}
	}
	if o.UseStatus && sumsFirst(o.Release) {
		return resizedRequests(pod, o)
	}
	total := ofContainers(pod, o, effectiveRequests)
	if !o.IgnorePodLevel && podLevelRequests(pod) {
		for name, q := range pod.Spec.Resources.Requests {
			if PodLevelSupported(name) {
				total[name] = podLevelRequest(pod, name, q, o)
			}
		}
	}
	if !o.IgnoreOverhead {
		add(total, pod.Spec.Overhead)
	}
	return total
}

// IsSidecar reports whether an init container keeps running beside the containers: its restart policy is Always. A nil
// container is no sidecar.
func IsSidecar(c *v1.Container) bool {
	return podinfo.Sidecar(c)
}

// PodLevelSupported reports whether spec.resources may name the resource: cpu, memory and huge pages. Other names in
// spec.resources have no effect.
func PodLevelSupported(name v1.ResourceName) bool {
	return name == v1.ResourceCPU || name == v1.ResourceMemory || strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// podLevelRequests reports whether spec.resources has requests.
func podLevelRequests(pod *v1.Pod) bool {
	return pod.Spec.Resources != nil && anySupported(pod.Spec.Resources.Requests)
}

func anySupported(list v1.ResourceList) bool {
	for name := range list {
		if PodLevelSupported(name) {
			return true
		}
	}
	return false
}

// effectiveRequests returns what one container counts with. The result may be the spec's own map and is only read.
func effectiveRequests(pod *v1.Pod, c *v1.Container, plainInit bool, o Options) v1.ResourceList {
	r := c.Resources.Requests
	if o.UseStatus && !plainInit {
		if s := statusOf(pod, c.Name); s != nil && s.Resources != nil {
			if podinfo.ResizeInfeasible(pod) {
				r = largest(s.Resources.Requests, s.AllocatedResources)
			} else {
				r = largest(r, s.Resources.Requests, s.AllocatedResources)
			}
		}
	}
	return withMissing(r, o)
}

// withMissing returns the amounts of a container with Options.Missing for resources that it does not name.
func withMissing(r v1.ResourceList, o Options) v1.ResourceList {
	if len(o.Missing) == 0 {
		return r
	}
	filled := clone(o.Missing)
	for name, q := range r {
		filled[name] = q.DeepCopy()
	}
	return filled
}

// podLevelRequest returns what counts for a resource of spec.resources, whose desired amount is spec.
func podLevelRequest(pod *v1.Pod, name v1.ResourceName, spec resource.Quantity, o Options) resource.Quantity {
	if !o.usePodStatus(pod) {
		return spec.DeepCopy()
	}
	status := pod.Status.Resources
	if podinfo.ResizeInfeasible(pod) {
		q := largest(status.Requests, pod.Status.AllocatedResources)[name]
		return q // zero when neither list names the resource
	}
	return largest(v1.ResourceList{name: spec}, status.Requests, pod.Status.AllocatedResources)[name]
}

// statusOf returns the status of the container of that name, nil when there is none. Of several statuses the last one
// counts. The statuses of init containers come after those of containers.
func statusOf(pod *v1.Pod, name string) *v1.ContainerStatus {
	for _, list := range [...][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// walk accumulates the containers of a pod in the order of their declaration.
type walk struct{ sum, sidecars, peak v1.ResourceList }

func (w *walk) container(r v1.ResourceList) {
	if w.sum == nil {
		w.sum, w.sidecars, w.peak = v1.ResourceList{}, v1.ResourceList{}, v1.ResourceList{}
	}
	add(w.sum, r)
}

// step adds the next init container, which counts with r.
func (w *walk) step(c *v1.Container, r v1.ResourceList) {
	if IsSidecar(c) {
		w.container(r)
		add(w.sidecars, r)
		raise(w.peak, w.sidecars)
		return
	}
	w.container(nil)
	need := clone(w.sidecars)
	add(need, r)
	raise(w.peak, need)
}

func (w *walk) total() v1.ResourceList {
	w.container(nil)
	raise(w.sum, w.peak)
	return w.sum
}

// ofContainers returns the result of a walk over the pod, in which effective says what each container counts with.
func ofContainers(pod *v1.Pod, o Options, effective func(pod *v1.Pod, c *v1.Container, plainInit bool, o Options) v1.ResourceList) v1.ResourceList {
	w := walk{}
	for i := range pod.Spec.Containers {
		w.container(effective(pod, &pod.Spec.Containers[i], false, o))
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		w.step(c, effective(pod, c, !IsSidecar(c), o))
	}
	return w.total()
}

// add adds r to list, resource by resource.
func add(list, r v1.ResourceList) {
	for name, q := range r {
		if sum, ok := list[name]; ok {
			sum.Add(q)
			list[name] = sum
		} else {
			list[name] = q.DeepCopy()
		}
	}
}

// raise sets list to the larger amount of each resource. It adds the resources that list lacks.
func raise(list, r v1.ResourceList) {
	for name, q := range r {
		if old, ok := list[name]; !ok || q.Cmp(old) > 0 {
			list[name] = q.DeepCopy()
		}
	}
}

func largest(lists ...v1.ResourceList) v1.ResourceList {
	out := v1.ResourceList{}
	for _, r := range lists {
		raise(out, r)
	}
	return out
}

func clone(list v1.ResourceList) v1.ResourceList {
	out := make(v1.ResourceList, len(list))
	add(out, list)
	return out
}
