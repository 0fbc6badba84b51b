package volumes

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/resources"
)

// limitsFilter is a pod's side of NodeVolumeLimits: the volumes that the pod would attach.
type limitsFilter struct {
	pod    *Pod
	disks  []wanted // each volume of the pod once
	reason string   // the missing claim for which every node rejects
	broken string   // why the plugin fails: a claim of another pod
	disk   string   // why it fails on nodes with a CSINode: a disk that its driver cannot know
	skip   bool
}

// wanted is a volume of the pod. translated: it is a CSI volume only on nodes with a CSINode.
type wanted struct {
	disk
	translated bool
}

const limitsPlugin = "NodeVolumeLimits"

// Limits compiles the filter NodeVolumeLimits: no driver may have more volumes on a node than its CSINode allows. PreFilter
// answers Skip for a pod without claims and without volumes of in-tree kinds that have a CSI driver, and else Success. On is
// O(volumes of the pod) and writes to the [Usage].
func (p *Pod) Limits() Evaluator[*Usage, LimitsState] { return p.limits() }

func (p *Pod) limits() *limitsFilter {
	e := &limitsFilter{pod: p, skip: true}
	next := 0
	for i := range p.pod.Spec.Volumes {
		v := &p.pod.Spec.Volumes[i]
		if d, ok, err := inlineDisk(v); ok {
			e.skip = false
			if err == nil {
				e.want(d, true)
			} else if e.reason == "" && e.broken == "" && e.disk == "" {
				e.disk = err.Error()
			}
			continue
		}
		if _, _, ok := claimName(p.pod, v); !ok {
			continue
		}
		e.skip = false
		c := &p.claims[next]
		next++
		switch {
		case c.claim == nil:
			if e.reason == "" && e.broken == "" {
				e.reason = "looking up PVC " + p.pod.Namespace + "/" + c.name + ": " + claimNotFound(c.name)
			}
		case c.ephemeral && !owned(p.pod, c.claim):
			if e.reason == "" && e.broken == "" {
				e.broken = notOwner(p.pod, c.claim)
			}
		default:
			if d, translated, ok := p.objects.claimDisk(c.claim); ok {
				e.want(d, translated)
			}
		}
	}
	return e
}

// want adds a volume. A volume that occurs both as a CSI volume and as a translated one counts as a CSI volume.
func (e *limitsFilter) want(d disk, translated bool) {
	for k := range e.disks {
		if e.disks[k].disk == d {
			e.disks[k].translated = e.disks[k].translated && translated
			return
		}
	}
	e.disks = append(e.disks, wanted{d, translated})
}

// claimDisk returns the volume that a claim attaches, and false when the plugin does not count the volume. A claim without a
// volume counts as a separate volume of its class's provisioner. Two in-tree provisioners are exceptions: v1.37 has drivers
// for them and does not count their volumes.
func (o *Objects) claimDisk(claim *v1.PersistentVolumeClaim) (d disk, translated, ok bool) {
	if claim.Spec.VolumeName != "" {
		if pv, ok := lookUp(o.PersistentVolumes, "", claim.Spec.VolumeName); ok {
			return volumeDisk(pv)
		}
	}
	name := class(claim)
	if name == "" {
		return disk{}, false, false
	}
	sc, ok := lookUp(o.StorageClasses, "", name)
	if !ok {
		return disk{}, false, false
	}
	if sc.Provisioner == azureFile || sc.Provisioner == vSphere {
		return disk{}, false, false
	}
	handle := "\x00-" + claim.Namespace + "/" + claim.Name // no driver's handle begins so
	if driver, ok := csiDriver(sc.Provisioner); ok {
		return disk{driver, handle}, true, true
	}
	return disk{sc.Provisioner, handle}, false, true
}

func (e *limitsFilter) PreFilter() filter.PreFilterResult {
	if e.skip {
		return result(limitsPlugin, filter.Skip)
	}
	return result(limitsPlugin, filter.Success)
}

func (e *limitsFilter) On(u *Usage) LimitsState {
	s := &limitsState{limits: e, usage: u}
	for _, d := range e.disks {
		driver, ok := slices.BinarySearchFunc(s.drivers, d.driver, func(x driverWant, name string) int { return strings.Compare(x.name, name) })
		if !ok {
			s.drivers = slices.Insert(s.drivers, driver, driverWant{name: d.driver})
			if o, found := lookUp(e.pod.objects.CSIDrivers, "", d.driver); found && requiresDrivers(e.pod.options) {
				p := o.Spec.PreventPodSchedulingIfMissing
				s.drivers[driver].required = p != nil && *p
			}
		}
		s.drivers[driver].disks = append(s.drivers[driver].disks, diskWant{u.intern(d.disk), d.translated})
	}
	return s
}

// LimitsState is NodeVolumeLimits for one pod and the volumes in use. It follows changes of the [Usage].
//
// Check rejects a slot with verdict 1 when a driver would have more volumes there than the CSINode allows. It counts the
// volumes that pods on the node use, the volumes that are attached without a pod, and the volumes of the pod that no pod on
// the node uses. A volume that is attached, used by no pod and wanted by the pod counts twice. Nodes without CSINode and
// drivers without a limit take any number. Verdict 2 with [resources.Unresolvable] is a missing claim. A free slot is rejected
// with verdict 1 and resources.Unresolvable. Check does not allocate.
//
// Code is Error for a claim that belongs to another pod, for a disk of the pod that its driver cannot know, and, like v1.37,
// for a node with limits on which a running pod has such a disk or an ephemeral volume whose claim is not its own. Explain returns the drivers of the pod's volumes that have
// a limit on the slot, by name, whether or not the limit is exceeded.
type LimitsState interface {
	filter.TrialState[DriverCount]
	filter.Coder
}

type limitsState struct {
	limits  *limitsFilter
	usage   *Usage
	drivers []driverWant // by name
}

type driverWant struct {
	name     string
	disks    []diskWant
	required bool // nodes without the driver are rejected
}

// onlyTranslated reports whether all of the driver's volumes are translated, so that a node without CSINode does not count
// them.
func (d *driverWant) onlyTranslated() bool {
	return !slices.ContainsFunc(d.disks, func(w diskWant) bool { return !w.translated })
}

type diskWant struct {
	id         int32
	translated bool
}

// Verdicts of NodeVolumeLimits. Verdict noDriver+k: driver k of the pod is not on the node. Verdict neighbour+k: the plugin
// fails for a pod on the node, for the reason with number k.
const (
	limitExceeded resources.Verdict = 1
	claimMissing  resources.Verdict = 2
	limitsBroken  resources.Verdict = 3
	diskUnknown   resources.Verdict = 4
	noDriver      resources.Verdict = 5
	neighbour     resources.Verdict = 1 << 13
)

func (s *limitsState) Name() string { return limitsPlugin }

func (s *limitsState) Check(i int) resources.Verdict {
	return s.check(s.usage.slot(i))
}

func (s *limitsState) check(u *slotUsage) resources.Verdict {
	switch {
	case s.limits.disk != "" && u != nil && u.csi:
		return diskUnknown
	case s.limits.reason != "":
		return claimMissing | resources.Unresolvable
	case s.limits.broken != "":
		return limitsBroken
	case u == nil:
		return limitExceeded | resources.Unresolvable
	}
	for k := range s.drivers {
		if d := &s.drivers[k]; d.required && !u.hasDriver(d.name) && (u.csi || !d.onlyTranslated()) {
			return noDriver + resources.Verdict(k)
		}
	}
	if len(u.faults) > 0 && s.wants(u) && u.limited() {
		return neighbour + u.faults[0]
	}
	for k := range s.drivers {
		d := &s.drivers[k]
		limit, ok := u.limit(d.name)
		if !ok {
			continue
		}
		if attached, more := s.counted(d, u); more > 0 && attached+more > limit {
			return limitExceeded
		}
	}
	return 0
}

// wants reports whether any volume of the pod counts on a node.
func (s *limitsState) wants(u *slotUsage) bool {
	return slices.ContainsFunc(s.drivers, func(d driverWant) bool { return !d.onlyTranslated() || s.countsInTree(&d, u) })
}

// countsInTree reports whether the driver's volumes of in-tree kinds count on a node with a CSINode.
func (s *limitsState) countsInTree(d *driverWant, u *slotUsage) bool {
	return d.name != portworx.driver || countsPortworx(s.limits.pod.options.Release, u)
}

// counted returns how many volumes of a driver count on a node, and how many would come with the pod.
func (s *limitsState) counted(d *driverWant, u *slotUsage) (attached, more int) {
	inTree := s.countsInTree(d, u)
	attached = u.attached(d.name)
	if !inTree {
		attached -= u.portworx
	}
	for _, w := range d.disks {
		if !u.uses(w.id) && (inTree || !w.translated) {
			more++
		}
	}
	return attached, more
}

func (s *limitsState) Code(v resources.Verdict) filter.Code {
	switch {
	case v == 0:
		return filter.Success
	case v&resources.Unresolvable != 0:
		return filter.UnschedulableAndUnresolvable
	case v == limitsBroken || v == diskUnknown || v >= neighbour:
		return filter.Error
	}
	return filter.Unschedulable
}

func (s *limitsState) Reasons(v resources.Verdict) []string {
	switch v &^ resources.Unresolvable {
	case 0:
		return nil
	case limitExceeded:
		return []string{"node(s) exceed max volume count"}
	case claimMissing:
		return []string{s.limits.reason}
	case limitsBroken:
		return []string{s.limits.broken}
	case diskUnknown:
		return []string{s.limits.disk}
	}
	if v >= neighbour {
		return []string{s.usage.faults.text(v - neighbour)}
	}
	return []string{s.drivers[v-noDriver].name + " CSI driver is not installed on the node"}
}

// DriverCount is a driver with a limit on a node and its volumes.
type DriverCount struct {
	Driver string
	// Attached is the number of volumes that count on the node already, New the number of volumes that would come with the
	// pod, and Limit the number that the node allows.
	Attached, New, Limit int
}

func (s *limitsState) Explain(i int) []DriverCount {
	u := s.usage.slot(i)
	if u == nil {
		return nil
	}
	var out []DriverCount
	for k := range s.drivers {
		d := &s.drivers[k]
		limit, ok := u.limit(d.name)
		if !ok {
			continue
		}
		c := DriverCount{Driver: d.name, Limit: limit}
		c.Attached, c.New = s.counted(d, u)
		out = append(out, c)
	}
	return out
}

// limitsTrial is the Trial of a limitsState. The first change of a slot copies its usage.
type limitsTrial struct {
	s     *limitsState
	slots []trialSlot
	extra []disk // volumes that the Usage does not know have the numbers -1, -2 ...
}

type trialSlot struct {
	slot  int
	usage *slotUsage
}

func (s *limitsState) NewTrial() filter.Trial { return &limitsTrial{s: s} }

func (t *limitsTrial) Add(p *v1.Pod, i int) { t.change(p, i, 1) }

func (t *limitsTrial) Remove(p *v1.Pod, i int) { t.change(p, i, -1) }

func (t *limitsTrial) Reset() { t.slots, t.extra = t.slots[:0], t.extra[:0] }

func (t *limitsTrial) change(p *v1.Pod, i int, n int32) {
	h := t.s.usage.held(p, t.number)
	if h.empty() {
		return
	}
	u := t.at(i)
	if u == nil {
		if original := t.s.usage.slot(i); original != nil {
			u = original.clone()
			t.slots = append(t.slots, trialSlot{i, u})
		}
	}
	if u != nil {
		u.apply(t.s.usage, h, n)
	}
}

// number returns the number of a volume. It does not write to the Usage, because other trials read the Usage.
func (t *limitsTrial) number(d disk) int32 {
	if id, ok := t.s.usage.ids[d]; ok {
		return id
	}
	at := slices.Index(t.extra, d)
	if at < 0 {
		at = len(t.extra)
		t.extra = append(t.extra, d)
	}
	return -1 - int32(at)
}

func (t *limitsTrial) at(i int) *slotUsage {
	for k := range t.slots {
		if t.slots[k].slot == i {
			return t.slots[k].usage
		}
	}
	return nil
}

func (t *limitsTrial) Check(i int) resources.Verdict {
	if u := t.at(i); u != nil {
		return t.s.check(u)
	}
	return t.s.Check(i)
}
