package volumes

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// holder is a pod with inline disks on a slot.
type holder struct {
	pod  *v1.Pod
	slot int
}

// inlineDiskName is the kind of an inline disk, and what two volumes of that kind have in common when they conflict.
type inlineDiskName [3]string

// nameOfInlineDisk returns the name of a volume of an inline kind that VolumeRestrictions knows.
func nameOfInlineDisk(v *v1.Volume) (name inlineDiskName, ok bool) {
	switch {
	case v.GCEPersistentDisk != nil:
		return inlineDiskName{"gce", v.GCEPersistentDisk.PDName}, true
	case v.AWSElasticBlockStore != nil:
		return inlineDiskName{"ebs", v.AWSElasticBlockStore.VolumeID}, true
	case v.ISCSI != nil:
		return inlineDiskName{"iscsi", v.ISCSI.IQN}, true
	case v.RBD != nil:
		return inlineDiskName{"rbd", v.RBD.RBDPool, v.RBD.RBDImage}, true
	}
	return name, false
}

// inlineDiskNames returns the names of a pod's inline disks. A name may come twice.
func inlineDiskNames(pod *v1.Pod) (names []inlineDiskName) {
	for i := range pod.Spec.Volumes {
		if name, ok := nameOfInlineDisk(&pod.Spec.Volumes[i]); ok {
			names = append(names, name)
		}
	}
	return names
}

// countDisks counts the pods with a disk that conflicts with one of the pod.
func (s *restrictionsState) countDisks(u *Usage) {
	pod, counted := s.restrictions.pod.pod, map[holder]bool{}
	s.disks = map[int]int32{}
	for _, name := range inlineDiskNames(pod) {
		for _, h := range u.holders[name] {
			if !counted[h] && diskConflict(pod, h.pod) {
				counted[h] = true
				s.disks[h.slot]++
			}
		}
	}
}

// diskConflict reports whether a volume of the pod and a volume of the other pod must not be attached to one node.
func diskConflict(pod, other *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		for k := range other.Spec.Volumes {
			if sameDisk(&pod.Spec.Volumes[i], &other.Spec.Volumes[k]) {
				return true
			}
		}
	}
	return false
}

// sameDisk reports whether two volumes conflict. The same EBS volume always conflicts. The same GCE disk, ISCSI name or RBD
// image (with a common monitor) conflicts unless both volumes are read-only. Rule: the API's comments of these volume
// sources.
func sameDisk(a, b *v1.Volume) bool {
	switch {
	case a.GCEPersistentDisk != nil && b.GCEPersistentDisk != nil:
		x, y := a.GCEPersistentDisk, b.GCEPersistentDisk
		return x.PDName == y.PDName && !(x.ReadOnly && y.ReadOnly)
	case a.AWSElasticBlockStore != nil && b.AWSElasticBlockStore != nil:
		return a.AWSElasticBlockStore.VolumeID == b.AWSElasticBlockStore.VolumeID
	case a.ISCSI != nil && b.ISCSI != nil:
		return a.ISCSI.IQN == b.ISCSI.IQN && !(a.ISCSI.ReadOnly && b.ISCSI.ReadOnly)
	case a.RBD != nil && b.RBD != nil:
		x, y := a.RBD, b.RBD
		shared := slices.ContainsFunc(x.CephMonitors, func(m string) bool { return slices.Contains(y.CephMonitors, m) })
		return shared && x.RBDPool == y.RBDPool && x.RBDImage == y.RBDImage && !(x.ReadOnly && y.ReadOnly)
	}
	return false
}
