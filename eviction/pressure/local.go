package pressure

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// localStorage returns the evictions of pods that use more local storage than they may, whatever the state of the node:
// every active pod that has statistics and is not exempt, in the order of pods. The first of these that holds decides:
//
//  1. an emptyDir with a size limit above 0, of any medium, is larger than that,
//  2. the pod uses more than its ephemeral-storage limit: one container with a limit limits the pod as a whole,
//  3. a container's logs, and its writable layer unless images have their own file system, are larger than its limit.
//
// Equal is fine. The grace is one second. O(pods x (containers + volumes)).
func localStorage(l Layout, pods []*v1.Pod, stats map[types.UID]PodStats) []Eviction {
	var list []Eviction
	for _, pod := range pods {
		if pod == nil || !active(pod) || exempt(pod) != "" {
			continue
		}
		st, ok := stats[pod.UID]
		if !ok {
			continue
		}
		if message := overLimit(l, pod, &st); message != "" {
			list = append(list, *newEviction(pod, 1, message))
		}
	}
	return list
}

func overLimit(l Layout, pod *v1.Pod, stats *PodStats) string {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil {
			continue
		}
		limit := v.EmptyDir.SizeLimit.DeepCopy() // a quantity that is printed keeps its text
		if n := lastUse(stats.Volumes, v.Name); limit.Sign() > 0 && n != nil && binary(signed(*n)).Cmp(limit) > 0 {
			return fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", v.Name, &limit)
		}
	}
	if !limited(pod) { // most pods: nothing below can hold
		return ""
	}
	if limit, ok := overhead.Limits(pod, overhead.Options{})[v1.ResourceEphemeralStorage]; ok && binary(number(stats.EphemeralStorageUsed)).Cmp(limit) > 0 {
		return fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s. ", &limit)
	}
	for i := range stats.Containers {
		c := &stats.Containers[i]
		for j := range pod.Spec.Containers {
			own := &pod.Spec.Containers[j]
			limit := own.Resources.Limits[v1.ResourceEphemeralStorage]
			if own.Name != c.Name || limit.IsZero() {
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
	}
	return ""
}

// lastUse returns the bytes of the last statistics of a volume, nil when they are not known.
func lastUse(list []VolumeStats, name string) (bytes *uint64) {
	for i := range list {
		if list[i].Name == name {
			bytes = list[i].UsedBytes
		}
	}
	return bytes
}

// limited reports whether any container names an ephemeral-storage limit.
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
