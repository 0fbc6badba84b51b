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

// appendDiskNames appends the names of the inline kinds of a volume that VolumeRestrictions knows: none or one, unless a volume is of several kinds, which
// the API server refuses.
func appendDiskNames(dst []inlineDiskName, v *v1.Volume) []inlineDiskName {
	if d := v.GCEPersistentDisk; d != nil {
		dst = append(dst, inlineDiskName{"gce", d.PDName})
	}
	if d := v.AWSElasticBlockStore; d != nil {
		dst = append(dst, inlineDiskName{"ebs", d.VolumeID})
	}
	if d := v.ISCSI; d != nil {
		dst = append(dst, inlineDiskName{"iscsi", d.IQN})
	}
	if d := v.RBD; d != nil {
		dst = append(dst, inlineDiskName{"rbd", d.RBDPool, d.RBDImage})
	}
	return dst
}

// inlineDiskNames returns the names of a pod's inline disks. A name may come twice.
func inlineDiskNames(pod *v1.Pod) (names []inlineDiskName) {
	for i := range pod.Spec.Volumes {
		names = appendDiskNames(names, &pod.Spec.Volumes[i])
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
