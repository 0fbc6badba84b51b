package volumes

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/resources"
)

// Usage has the volumes in use on each node, the number of volumes that each node may have, and the number of pods that use
// each claim. NodeVolumeLimits and VolumeRestrictions read it. Make a Usage once for a cluster and keep it up to date with Add
// and Remove. When storage objects or nodes change, make a new Usage. Several goroutines may read it. Add, Remove and On of
// the evaluator of NodeVolumeLimits write.
type Usage struct {
	cluster filter.Cluster
	objects Objects
	ids     map[disk]int32
	disks   []disk
	users   [][]int32                   // by number of a volume: the slot of each pod that uses the volume
	slots   []*slotUsage                // nil: free
	claims  map[[2]string]int32         // pods by namespace and name of a claim that they mount by name
	holders map[inlineDiskName][]holder // pods with inline disks
	faults  faults
}

// slotUsage is the usage of one node.
type slotUsage struct {
	csi      bool   // whether there is a CSINode
	migrated string // the annotation of the CSINode with the plugins that are migrated
	drivers  []driverLimit
	used     []usedDisk // by pods of the node
	stale    []int32    // volumes with a VolumeAttachment, used by pods or not
	attaches []attachCount
	portworx int                 // in-tree Portworx volumes that pods of the node use
	faults   []resources.Verdict // of pods for which the plugin fails, in the order in which they came
}

type driverLimit struct {
	name  string
	limit int // -1: none
}

type usedDisk struct {
	id         int32
	pods       int32
	driver     string
	translated bool // of an in-tree kind
}

type attachCount struct {
	driver string
	n      int
}

// NewUsage counts the volumes of a cluster's pods. O(pods + CSINodes + VolumeAttachments).
func NewUsage(c filter.Cluster, objects Objects) *Usage {
	u := &Usage{cluster: c, objects: objects, ids: map[disk]int32{}, slots: make([]*slotUsage, c.Len()), claims: map[[2]string]int32{}, holders: map[inlineDiskName][]holder{}}
	byNode := map[string][]*storagev1.VolumeAttachment{}
	for a := range allOf(objects.VolumeAttachments) {
		byNode[a.Spec.NodeName] = append(byNode[a.Spec.NodeName], a)
	}
	for i := range u.slots {
		node := c.Node(i)
		if node == nil {
			continue
		}
		s := &slotUsage{}
		u.slots[i] = s
		if csiNode, ok := lookUp(objects.CSINodes, "", node.Name); ok {
			s.csi, s.migrated = true, csiNode.Annotations[v1.MigratedPluginsAnnotationKey]
			for k := range csiNode.Spec.Drivers {
				s.drivers = append(s.drivers, limitOf(&csiNode.Spec.Drivers[k]))
			}
		}
		for _, a := range byNode[node.Name] {
			if d, ok := u.attachment(a); ok {
				s.stale = append(s.stale, u.intern(d))
			}
		}
		slices.Sort(s.stale)
		s.stale = slices.Compact(s.stale)
		for p := range c.Pods(i) {
			h := u.held(p, u.intern)
			s.change(h, 1)
			u.countUser(h, i, 1)
			u.restrict(p, i, 1)
		}
		s.recount(u)
	}
	return u
}

func limitOf(d *storagev1.CSINodeDriver) driverLimit {
	l := driverLimit{d.Name, -1}
	if d.Allocatable != nil && d.Allocatable.Count != nil {
		l.limit = int(*d.Allocatable.Count)
	}
	return l
}

// attachment returns the volume of a VolumeAttachment. Only PersistentVolumes of CSI drivers count.
func (u *Usage) attachment(a *storagev1.VolumeAttachment) (disk, bool) {
	name := a.Spec.Source.PersistentVolumeName
	if name == nil {
		return disk{}, false
	}
	pv, ok := lookUp(u.objects.PersistentVolumes, "", *name)
	if !ok || pv.Spec.CSI == nil {
		return disk{}, false
	}
	return disk{a.Spec.Attacher, pv.Spec.CSI.VolumeHandle}, true
}

// Add counts a pod that came to slot i. It does nothing for a free slot. O(volumes of the slot).
func (u *Usage) Add(pod *v1.Pod, i int) { u.apply(pod, i, 1) }

// Remove removes a pod that left slot i. The pod must have been counted there. O(volumes of the slot).
func (u *Usage) Remove(pod *v1.Pod, i int) { u.apply(pod, i, -1) }

func (u *Usage) apply(pod *v1.Pod, i int, n int32) {
	if s := u.slot(i); s != nil {
		h := u.held(pod, u.intern)
		s.apply(u, h, n)
		u.countUser(h, i, n)
		u.restrict(pod, i, n)
	}
}

// countUser notes that a pod with these volumes came to a slot, or left it.
func (u *Usage) countUser(h heldVolumes, slot int, n int32) {
	for _, d := range h.disks {
		users := &u.users[d.id]
		if n > 0 {
			*users = append(*users, int32(slot))
		} else if at := slices.Index(*users, int32(slot)); at >= 0 {
			*users = slices.Delete(*users, at, at+1)
		}
	}
}

// restrict counts what VolumeRestrictions reads of a pod.
func (u *Usage) restrict(pod *v1.Pod, i int, n int32) {
	for _, name := range claimNames(pod) {
		k := [2]string{pod.Namespace, name}
		if u.claims[k] += n; u.claims[k] == 0 {
			delete(u.claims, k)
		}
	}
	for _, name := range inlineDiskNames(pod) {
		if n > 0 {
			u.holders[name] = append(u.holders[name], holder{pod, i})
			continue
		}
		u.holders[name] = slices.DeleteFunc(u.holders[name], func(h holder) bool {
			return h.slot == i && h.pod.UID == pod.UID && h.pod.Name == pod.Name && h.pod.Namespace == pod.Namespace
		})
		if len(u.holders[name]) == 0 {
			delete(u.holders, name)
		}
	}
}

func (u *Usage) slot(i int) *slotUsage {
	if i < 0 || i >= len(u.slots) {
		return nil
	}
	return u.slots[i]
}

// intern returns the number of a volume.
func (u *Usage) intern(d disk) int32 {
	id, ok := u.ids[d]
	if !ok {
		id = int32(len(u.disks))
		u.ids[d] = id
		u.disks, u.users = append(u.disks, d), append(u.users, nil)
	}
	return id
}

// heldVolumes has what NodeVolumeLimits counts of a running pod: each volume once, and the first fault. A fault is an inline disk
// that its driver cannot know, or the claim of an ephemeral volume that belongs to another owner.
type heldVolumes struct {
	disks  []usedDisk
	faulty bool
	fault  resources.Verdict
}

func (h *heldVolumes) empty() bool { return len(h.disks) == 0 && !h.faulty }

// held returns what is counted of a pod. number returns the number of a volume. Missing claims are left out.
func (u *Usage) held(pod *v1.Pod, number func(disk) int32) (h heldVolumes) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		d, ok, err := inlineDisk(v)
		translated := true
		if err != nil {
			u.blame(&h, err.Error())
			continue
		}
		if !ok {
			name, ephemeral, isClaim := claimName(pod, v)
			if !isClaim {
				continue
			}
			claim, found := lookUp(u.objects.Claims, pod.Namespace, name)
			if !found {
				continue
			}
			if ephemeral && !owned(pod, claim) {
				u.blame(&h, notOwner(pod, claim))
				continue
			}
			d, translated, ok = u.objects.claimDisk(claim)
		}
		if !ok {
			continue
		}
		id := number(d)
		if !slices.ContainsFunc(h.disks, func(x usedDisk) bool { return x.id == id }) {
			h.disks = append(h.disks, usedDisk{id: id, driver: d.driver, translated: translated})
		}
	}
	return h
}

// blame notes a fault unless the pod has one.
func (u *Usage) blame(h *heldVolumes, text string) {
	if !h.faulty {
		h.faulty, h.fault = true, u.faults.number(text)
	}
}

func (s *slotUsage) clone() *slotUsage {
	c := *s
	c.used, c.attaches, c.faults = slices.Clone(s.used), slices.Clone(s.attaches), slices.Clone(s.faults)
	return &c
}

func (s *slotUsage) apply(u *Usage, h heldVolumes, n int32) {
	if !h.empty() {
		s.change(h, n)
		s.recount(u)
	}
}

func (s *slotUsage) change(h heldVolumes, n int32) {
	if h.faulty {
		if n > 0 {
			s.faults = append(s.faults, h.fault)
		} else if at := slices.Index(s.faults, h.fault); at >= 0 {
			s.faults = slices.Delete(s.faults, at, at+1)
		}
	}
	for _, d := range h.disks {
		at := slices.IndexFunc(s.used, func(x usedDisk) bool { return x.id == d.id })
		if at < 0 {
			at = len(s.used)
			s.used = append(s.used, d)
		}
		if s.used[at].pods += n; s.used[at].pods == 0 {
			s.used = slices.Delete(s.used, at, at+1)
		}
	}
}

// recount counts the volumes of each driver: the volumes that pods use, and the attached volumes that no pod uses.
func (s *slotUsage) recount(u *Usage) {
	s.attaches, s.portworx = s.attaches[:0], 0
	for k := range s.used {
		if d := &s.used[k]; d.pods > 0 {
			s.count(d.driver)
			if d.translated && d.driver == portworx.driver {
				s.portworx++
			}
		}
	}
	for _, id := range s.stale {
		if !s.uses(id) {
			s.count(u.disks[id].driver)
		}
	}
}

func (s *slotUsage) count(driver string) {
	for k := range s.attaches {
		if s.attaches[k].driver == driver {
			s.attaches[k].n++
			return
		}
	}
	s.attaches = append(s.attaches, attachCount{driver, 1})
}

// uses reports whether a pod of the node uses the volume.
func (s *slotUsage) uses(id int32) bool {
	for k := range s.used {
		if s.used[k].id == id {
			return s.used[k].pods > 0
		}
	}
	return false
}

func (s *slotUsage) attached(driver string) int {
	for k := range s.attaches {
		if s.attaches[k].driver == driver {
			return s.attaches[k].n
		}
	}
	return 0
}

func (s *slotUsage) limit(driver string) (int, bool) {
	for k := range s.drivers {
		if s.drivers[k].name == driver {
			return s.drivers[k].limit, s.drivers[k].limit >= 0
		}
	}
	return 0, false
}

// limited reports whether any driver has a limit.
func (s *slotUsage) limited() bool {
	return slices.ContainsFunc(s.drivers, func(d driverLimit) bool { return d.limit >= 0 })
}

func (s *slotUsage) hasDriver(driver string) bool {
	return slices.ContainsFunc(s.drivers, func(d driverLimit) bool { return d.name == driver })
}
