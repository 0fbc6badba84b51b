package pressure

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// localStorage returns the evictions of pods that use more local storage than they may, whatever the state of the node
// (rules E8.1 to E8.4). It looks at every active pod that has statistics and is not exempt, in the order of pods. The first
// line that holds decides:
//
//  1. An emptyDir of any medium uses more than its size limit, which is above 0.
//  2. The pod uses more than the sum of its containers' ephemeral-storage limits. One container with a limit is enough to
//     limit the whole pod.
//  3. A container, and in v1.37 a sidecar, uses more than its limit: its logs, and its writable layer unless images have their
//     own file system.
//
// Usage equal to a limit is allowed. The grace is one second. O(pods x (containers + volumes)).
func localStorage(l Layout, pods []*v1.Pod, stats map[types.UID]PodStats, v release.Version) []Eviction {
	var list []Eviction
	for _, pod := range pods {
		if pod == nil || !active(pod) || exempt(pod) != "" {
			continue
		}
		st, ok := stats[pod.UID]
		if !ok {
			continue
		}
		if message := overLimit(l, pod, &st, v); message != "" {
			list = append(list, *newEviction(pod, 1, message))
		}
	}
	return list
}

func overLimit(l Layout, pod *v1.Pod, stats *PodStats, v release.Version) string {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil {
			continue
		}
		limit := v.EmptyDir.SizeLimit.DeepCopy() // String writes into a quantity: print a copy
		if n := lastUse(stats.Volumes, v.Name); limit.Sign() > 0 && n != nil && binary(signed(*n)).Cmp(limit) > 0 {
			return fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", v.Name, &limit)
		}
	}
	if !limited(pod) { // most pods: the rules below cannot hold
		return ""
	}
	if limit, ok := overhead.Limits(pod, overhead.Options{})[v1.ResourceEphemeralStorage]; ok && binary(number(stats.EphemeralStorageUsed)).Cmp(limit) > 0 {
		return fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s. ", &limit)
	}
	for i := range stats.Containers {
		c := &stats.Containers[i]
		limit := storageLimit(pod, c.Name, v)
		if limit.IsZero() {
			continue
		}
		use := number(c.Logs.UsedBytes)
		if l != dedicatedImages && l != splitImages {
			use = resources.Add(use, number(c.Rootfs.UsedBytes))
		}
		if binary(use).Cmp(limit) > 0 {
			return fmt.Sprintf("Container %s exceeded its local ephemeral storage limit %q. ", c.Name, &limit)
		}
	}
	return ""
}

// storageLimit returns the ephemeral-storage limit of a container, zero when it has none, or none that counts.
func storageLimit(pod *v1.Pod, name string, v release.Version) (limit resource.Quantity) {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == name {
			return c.Resources.Limits[v1.ResourceEphemeralStorage]
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name && overhead.IsSidecar(c) && limitsSidecars(v) {
			return c.Resources.Limits[v1.ResourceEphemeralStorage]
		}
	}
	return limit
}

// lastUse returns the bytes in the last statistics of a volume, nil when they are unknown.
func lastUse(list []VolumeStats, name string) (bytes *uint64) {
	for i := range list {
		if list[i].Name == name {
			bytes = list[i].UsedBytes
		}
	}
	return bytes
}

// limited reports whether a container has an ephemeral-storage limit.
func limited(pod *v1.Pod) bool {
	for _, list := range [...][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if _, ok := list[i].Resources.Limits[v1.ResourceEphemeralStorage]; ok {
				return true
			}
		}
	}
	return false
}
