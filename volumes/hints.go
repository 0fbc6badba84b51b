package volumes

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/podinfo"
)

// Hint is that of [engine.HintOf].
func (e *restrictionsFilter) Hint(engine.NoOptions) engine.Hint { return restrictionsWouldHelp }
func (e *limitsFilter) Hint(engine.NoOptions) engine.Hint       { return limitsWouldHelp }
func (e *bindingFilter) Hint(engine.NoOptions) engine.Hint      { return bindingWouldHelp }
func (e *zoneFilter) Hint(engine.NoOptions) engine.Hint         { return zoneWouldHelp }

// restrictionsWouldHelp is the queueing hint of VolumeRestrictions. It reports whether an event could make a pod schedulable
// that the filter rejected. old is nil for an addition, and new is nil for a deletion. The hint is true for these events:
//
//   - A pod of the same namespace is deleted, and it has a claim of this pod or a disk that conflicts with one of this pod.
//   - A claim is added that this pod mounts by name.
//   - A node is added or updated.
//
// An object of another type is an error. A queue treats an error as true.
func restrictionsWouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	if before, after, ok := engine.EventOf[v1.Pod](old, new); ok {
		if after != nil || before.Namespace != pod.Namespace {
			return false, nil
		}
		shared := slices.ContainsFunc(claimNames(before), func(n string) bool { return slices.Contains(claimNames(pod), n) })
		return shared || diskConflict(pod, before), nil
	}
	if _, after, ok := engine.EventOf[v1.PersistentVolumeClaim](old, new); ok {
		return after != nil && after.Namespace == pod.Namespace && slices.Contains(claimNames(pod), after.Name), nil
	}
	if _, after, ok := engine.EventOf[v1.Node](old, new); ok {
		return after != nil, nil
	}
	return false, unexpected(old, new)
}

// limitsWouldHelp is the queueing hint of NodeVolumeLimits. Arguments and errors are as in [restrictionsWouldHelp]. The hint is
// true for these events:
//
//   - A CSINode is added, or updated with a larger limit of a driver. A driver without a limit counts as 0.
//   - A pod is deleted that had a node or a nominated node, and claims or volumes of in-tree kinds.
//   - A claim is added with the name of a claim of this pod or of one of its ephemeral volumes. Like v1.37, the hint does not
//     look at the owner of the claim.
//   - A VolumeAttachment is deleted, and this pod has claims or a volume of that driver written into its spec. The hint
//     fails when the pod has, before such a volume, a volume that its driver cannot know.
func limitsWouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	if before, after, ok := engine.EventOf[storagev1.CSINode](old, new); ok {
		return after != nil && (before == nil || limitGrew(before, after)), nil
	}
	if before, after, ok := engine.EventOf[v1.Pod](old, new); ok {
		return after == nil && podinfo.Placed(before) && attaches(before), nil
	}
	if _, after, ok := engine.EventOf[v1.PersistentVolumeClaim](old, new); ok {
		return after != nil && usesClaim(pod, after), nil
	}
	if before, after, ok := engine.EventOf[storagev1.VolumeAttachment](old, new); ok {
		if after != nil {
			return false, nil
		}
		return mayAttach(pod, before.Spec.Attacher)
	}
	return false, unexpected(old, new)
}

// bindingWouldHelp is the queueing hint of VolumeBinding. Arguments and errors are as in [restrictionsWouldHelp]. The hint is
// true for these events:
//
//   - A node or PersistentVolume is added or updated.
//   - A claim is added or updated that has the name of a claim of this pod or of one of its ephemeral volumes. Like v1.37,
//     the hint does not look at the owner of the claim.
//   - A StorageClass is added, or updated with other allowedTopologies.
//   - A CSINode is added, or updated with another annotation of migrated plugins.
//   - A CSIDriver is updated and no longer publishes capacity, and this pod has a volume of the driver written into its spec.
//   - A CSIStorageCapacity is added, or updated with room for a larger volume.
func bindingWouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	if _, after, ok := engine.EventOf[v1.Node](old, new); ok {
		return after != nil, nil
	}
	if _, after, ok := engine.EventOf[v1.PersistentVolume](old, new); ok {
		return after != nil, nil
	}
	if _, after, ok := engine.EventOf[v1.PersistentVolumeClaim](old, new); ok {
		return after != nil && usesClaim(pod, after), nil
	}
	if before, after, ok := engine.EventOf[storagev1.StorageClass](old, new); ok {
		return after != nil && (before == nil || !apiequality.Semantic.DeepEqual(before.AllowedTopologies, after.AllowedTopologies)), nil
	}
	if before, after, ok := engine.EventOf[storagev1.CSINode](old, new); ok {
		return after != nil && (before == nil || before.Annotations[v1.MigratedPluginsAnnotationKey] != after.Annotations[v1.MigratedPluginsAnnotationKey]), nil
	}
	if before, after, ok := engine.EventOf[storagev1.CSIDriver](old, new); ok {
		return before != nil && after != nil && publishes(before) && !publishes(after) && hasCSI(pod, after.Name), nil
	}
	if before, after, ok := engine.EventOf[storagev1.CSIStorageCapacity](old, new); ok {
		return after != nil && (before == nil || isMore(largest(before), largest(after))), nil
	}
	return false, unexpected(old, new)
}

// zoneWouldHelp is the queueing hint of VolumeZone. Arguments and errors are as in [restrictionsWouldHelp]. The hint is true for
// these events:
//
//   - A node is added or updated.
//   - A PersistentVolume is added, or updated with other zones or regions in its labels.
//   - A claim is added or updated that this pod mounts by name.
//   - A StorageClass is added or updated that waits for the first consumer.
func zoneWouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	if _, after, ok := engine.EventOf[v1.Node](old, new); ok {
		return after != nil, nil
	}
	if before, after, ok := engine.EventOf[v1.PersistentVolume](old, new); ok {
		return after != nil && (before == nil || zonesDiffer(before, after)), nil
	}
	if _, after, ok := engine.EventOf[v1.PersistentVolumeClaim](old, new); ok {
		return after != nil && after.Namespace == pod.Namespace && slices.Contains(claimNames(pod), after.Name), nil
	}
	if _, after, ok := engine.EventOf[storagev1.StorageClass](old, new); ok {
		return after != nil && after.VolumeBindingMode != nil && *after.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer, nil
	}
	return false, unexpected(old, new)
}

func limitGrew(before, after *storagev1.CSINode) bool {
	limits := func(n *storagev1.CSINode) map[string]int32 {
		m := map[string]int32{}
		for _, d := range n.Spec.Drivers {
			if d.Allocatable != nil && d.Allocatable.Count != nil {
				m[d.Name] = *d.Allocatable.Count
			}
		}
		return m
	}
	was := limits(before)
	for driver, n := range limits(after) {
		if n > was[driver] {
			return true
		}
	}
	return false
}

func zonesDiffer(before, after *v1.PersistentVolume) bool {
	return !slices.EqualFunc(appendZoneRules(nil, before), appendZoneRules(nil, after), func(a, b zoneRule) bool {
		return a.key == b.key && sameSet(a.values, b.values)
	})
}

func sameSet(a, b []string) bool {
	within := func(a, b []string) bool {
		return !slices.ContainsFunc(a, func(v string) bool { return !slices.Contains(b, v) })
	}
	return within(a, b) && within(b, a)
}

func publishes(d *storagev1.CSIDriver) bool {
	return d.Spec.StorageCapacity != nil && *d.Spec.StorageCapacity
}

// largest returns the size of the largest volume that can be made, nil when the object has no size.
func largest(c *storagev1.CSIStorageCapacity) *resource.Quantity {
	if c.MaximumVolumeSize != nil {
		return c.MaximumVolumeSize
	}
	return c.Capacity
}

// isMore reports whether after is larger than before. nil counts as 0.
func isMore(before, after *resource.Quantity) bool {
	if after == nil {
		return false
	}
	if before == nil {
		return after.Sign() > 0
	}
	a := *after // a copy, because Cmp may change the quantity
	return a.Cmp(*before) > 0
}

// usesClaim reports whether the claim has the name of a claim that the pod mounts or of one of its ephemeral volumes.
func usesClaim(pod *v1.Pod, claim *v1.PersistentVolumeClaim) bool {
	if claim.Namespace != pod.Namespace {
		return false
	}
	for i := range pod.Spec.Volumes {
		if name, _, ok := claimName(pod, &pod.Spec.Volumes[i]); ok && name == claim.Name {
			return true
		}
	}
	return false
}

// attaches reports whether the pod has volumes that NodeVolumeLimits may count.
func attaches(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if _, _, ok := claimName(pod, &pod.Spec.Volumes[i]); ok {
			return true
		}
		if _, ok, _ := inlineDisk(&pod.Spec.Volumes[i]); ok {
			return true
		}
	}
	return false
}

// mayAttach reports whether the pod has claims, or a volume of that driver written into it.
func mayAttach(pod *v1.Pod, driver string) (bool, error) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.PersistentVolumeClaim != nil {
			return true, nil
		}
		d, ok, err := inlineDisk(v)
		if err != nil {
			return false, err
		}
		if ok && d.driver == driver {
			return true, nil
		}
	}
	return false, nil
}

func hasCSI(pod *v1.Pod, driver string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.CSI != nil && v.CSI.Driver == driver })
}

func unexpected(old, new any) error {
	return fmt.Errorf("objects of an event: got %T and %T, which this hint does not read", old, new)
}
