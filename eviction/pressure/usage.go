package pressure

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// PodStats is the usage of a pod. Unknown numbers are nil. The names are those of the stats summary API.
type PodStats struct {
	WorkingSetBytes      *uint64 // memory of the whole pod
	Processes            *uint64
	EphemeralStorageUsed *uint64 // bytes of the pod's whole local storage
	Containers           []ContainerStats
	Volumes              []VolumeStats
}

// ContainerStats is the usage of a container: regular, init or ephemeral.
type ContainerStats struct {
	Name            string
	WorkingSetBytes *uint64
	Rootfs, Logs    FsUsage
}

// VolumeStats is the usage of a volume.
type VolumeStats struct {
	Name string
	FsUsage
}

// FsUsage is the usage of a file system.
type FsUsage struct {
	UsedBytes  *uint64
	InodesUsed *uint64
}

func (u FsUsage) amount(inodes bool) int64 {
	if inodes {
		return number(u.InodesUsed)
	}
	return number(u.UsedBytes)
}

func number(n *uint64) int64 {
	if n == nil {
		return 0
	}
	return signed(*n)
}

// counted lists the parts of a pod that are on a file system.
type counted struct{ rootfs, logs, volumes bool }

func countedOn(s Signal, l Layout) counted {
	nodefs := s == nodeFsAvailable || s == nodeFsInodesFree
	images := s == imageFsAvailable || s == imageFsInodesFree
	switch {
	case l == dedicatedImages && nodefs:
		return counted{logs: true, volumes: true}
	case l == dedicatedImages:
		return counted{rootfs: true}
	case l == splitImages && images:
		return counted{}
	}
	return counted{true, true, true}
}

// usage returns the pod's usage of the signal's resource, as the ranking counts it. For a file system it counts the parts
// that are on it (rule E6.5).
func usage(s Signal, l Layout, pod *v1.Pod, stats *PodStats) int64 {
	switch {
	case s.memory():
		return number(stats.WorkingSetBytes)
	case s == pidAvailable:
		return number(stats.Processes)
	}
	return diskUsage(s, l, pod, stats, localVolume)
}

func diskUsage(s Signal, l Layout, pod *v1.Pod, stats *PodStats, volume func(*v1.Volume) bool) int64 {
	var sum int64
	what := countedOn(s, l)
	for i := range stats.Containers {
		c := &stats.Containers[i]
		if what.rootfs {
			sum = resources.Add(sum, c.Rootfs.amount(s.inodes()))
		}
		if what.logs {
			sum = resources.Add(sum, c.Logs.amount(s.inodes()))
		}
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if !what.volumes || !volume(v) {
			continue
		}
		for j := range stats.Volumes {
			if stats.Volumes[j].Name == v.Name {
				sum = resources.Add(sum, stats.Volumes[j].amount(s.inodes()))
				break
			}
		}
	}
	return sum
}

// localVolume reports whether a volume is on the node's file system.
func localVolume(v *v1.Volume) bool {
	return v.HostPath != nil || v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumDefault || v.ConfigMap != nil || v.GitRepo != nil
}

// ownVolume reports whether a local volume is deleted with its pod.
func ownVolume(v *v1.Volume) bool { return localVolume(v) && v.HostPath == nil }

// request returns the pod's request of a resource (rule E6.2): the sum of containers, sidecars and init containers; for a
// pod with pod-level resources only these, so that the ephemeral storage of its containers counts 0. Overhead is added only
// when the sum is not zero. For a resized pod the allocated amounts count.
func request(pod *v1.Pod, name v1.ResourceName) int64 {
	pod = allocated(pod)
	var q resource.Quantity
	switch {
	case !hasWhole(pod):
		q = overhead.Requests(pod, overhead.Options{IgnoreOverhead: true})[name]
	case overhead.PodLevelSupported(name):
		q = pod.Spec.Resources.Requests[name].DeepCopy()
	}
	if extra, ok := pod.Spec.Overhead[name]; ok && !q.IsZero() {
		q.Add(extra)
	}
	return resources.Value(name, q)
}

// hasWhole reports whether the pod has a pod-level request or limit.
func hasWhole(pod *v1.Pod) bool {
	if pod.Spec.Resources == nil {
		return false
	}
	for _, list := range [...]v1.ResourceList{pod.Spec.Resources.Requests, pod.Spec.Resources.Limits} {
		for name := range list {
			if overhead.PodLevelSupported(name) {
				return true
			}
		}
	}
	return false
}

// allocated returns the pod with the requests that its node granted. It returns pod itself when those are the requests of
// the spec.
func allocated(pod *v1.Pod) *v1.Pod {
	granted := map[string]v1.ResourceList{}
	for _, list := range [...][]v1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			if list[i].AllocatedResources != nil {
				granted[list[i].Name] = list[i].AllocatedResources
			}
		}
	}
	whole := pod.Status.AllocatedResources
	if len(granted) == 0 && (whole == nil || pod.Spec.Resources == nil) {
		return pod
	}
	copied := *pod
	copied.Spec.Containers = grant(pod.Spec.Containers, granted, false)
	copied.Spec.InitContainers = grant(pod.Spec.InitContainers, granted, true)
	if whole != nil && pod.Spec.Resources != nil {
		r := *pod.Spec.Resources
		r.Requests = whole
		copied.Spec.Resources = &r
	}
	return &copied
}

// grant returns the containers with the granted requests. Of the init containers only sidecars can be resized.
func grant(list []v1.Container, granted map[string]v1.ResourceList, inits bool) []v1.Container {
	out := make([]v1.Container, len(list))
	copy(out, list)
	for i := range out {
		if r, ok := granted[out[i].Name]; ok && (!inits || overhead.IsSidecar(&out[i])) {
			out[i].Resources.Requests = r
		}
	}
	return out
}

func binary(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.BinarySI) }
