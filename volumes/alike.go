package volumes

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/key"
)

// Pods with different claims are alike for a filter when what the claims say about nodes is equal. The methods AppendAlike append what
// a filter reads, in place of the names of claims and volumes. They report false for a pod that must be asked about by itself.

// AppendAlike is for pods whose claims wait, or are bound to volumes that are there. Between equal keys only a change of a node or of a
// storage object changes a verdict or a score.
func (e *bindingFilter) AppendAlike(dst []byte) ([]byte, bool) {
	if e.pre.Code == filter.Skip {
		return key.Flag(dst, false), true
	}
	if e.pre.Code != filter.Success || len(e.errs) > 0 {
		return dst, false
	}
	dst = key.Len(key.Flag(dst, true), len(e.bound))
	for k := range e.bound {
		b := &e.bound[k]
		if b.volume == nil {
			return dst, false
		}
		var required *v1.NodeSelector
		if b.volume.Spec.NodeAffinity != nil {
			required = b.volume.Spec.NodeAffinity.Required
		}
		dst = key.Flag(key.Optional(dst, required, key.NodeSelector), b.migrated != nil)
		if m := b.migrated; m != nil {
			dst = key.NodeSelector(key.Text(dst, m.kind.plugin), m.required)
		}
	}
	dst = key.Len(dst, len(e.delayed))
	for k := range e.delayed {
		d := &e.delayed[k]
		dst = key.Len(key.Text(key.Text(dst, d.selected), d.class.Provisioner), len(d.topologies))
		for _, t := range d.topologies {
			dst = key.Len(dst, len(t))
			for j := range t {
				dst = key.Texts(key.Text(dst, t[j].Key), t[j].Values)
			}
		}
		dst = e.appendPublished(e.appendFree(dst, d), d)
	}
	return dst, true
}

// appendFree appends what decides which volumes the claim could take, but the storage objects.
func (e *bindingFilter) appendFree(dst []byte, d *delayedClaim) []byte {
	claim, name, some := d.claim, class(d.claim), false
	if d.labels != nil {
		for range candidatesFor(e.objects.PersistentVolumes, name, claim.Namespace, claim.Name) {
			some = true
			break
		}
	}
	if dst = key.Flag(dst, some); !some {
		return dst
	}
	var taken uint64
	if l := e.objects.ledger; l != nil {
		taken = l.taken[name]
	}
	dst = key.Quantity(key.Int(key.Text(dst, name), int64(taken)), d.request)
	dst = key.Texts(key.Text(dst, modeOrDefault(claim.Spec.VolumeMode)), claim.Spec.AccessModes)
	dst = key.Selector(key.Text(dst, deref(claim.Spec.VolumeAttributesClassName)), claim.Spec.Selector)
	named := mayName(e.objects.PersistentVolumes, name, claim.Namespace, claim.Name)
	if dst = key.Flag(dst, named); named {
		dst = key.Text(key.Text(key.Text(dst, claim.Namespace), claim.Name), claim.UID)
	}
	return dst
}

// appendPublished appends what decides whether a published capacity has room for the claim, but the storage objects.
func (e *bindingFilter) appendPublished(dst []byte, d *delayedClaim) []byte {
	if dst = key.Flag(dst, d.counted); !d.counted {
		return dst
	}
	var making uint64
	own := "" // a claim takes no room from itself
	if l := e.objects.ledger; l != nil && e.options.ReserveCapacity {
		making = l.making[d.class.Name]
		if k := claimKey(d.claim); l.claims[k] != nil {
			own = k
		}
	}
	return key.Quantity(key.Int(key.Text(key.Text(dst, d.class.Name), own), int64(making)), d.request)
}

// AppendAlike is for pods whose claims and volumes are there. Between equal keys only a change of a node changes a verdict.
func (e *zoneFilter) AppendAlike(dst []byte) ([]byte, bool) {
	if e.pre.Code != filter.Skip && e.pre.Code != filter.Success {
		return dst, false
	}
	dst = key.Len(dst, len(e.rules))
	for k := range e.rules {
		dst = key.Texts(key.Text(dst, e.rules[k].key), e.rules[k].values)
	}
	return dst, true
}

// AppendAlike is for pods whose claims are there. Pods with equal keys get the same verdict on every node but the slots of AppendApart.
func (s *restrictionsState) AppendAlike(dst []byte) ([]byte, bool) {
	code := s.restrictions.pre.Code
	return key.Flag(key.Flag(dst, s.restrictions.pod.inline), s.conflicts > 0), code == filter.Success || code == filter.Skip
}

// AppendApart appends the slots where a pod has a disk of the pod, in order. O(these slots).
func (s *restrictionsState) AppendApart(dst []int32) []int32 {
	from := len(dst)
	for i := range s.disks {
		dst = append(dst, int32(i))
	}
	slices.Sort(dst[from:])
	return dst
}

// Alike returns the state of the pods that are alike.
func (s *restrictionsState) Alike() RestrictionsState {
	c := *s
	c.disks = nil
	return &c
}

// AppendAlike is for all pods for which the plugin does not fail. Between equal keys a verdict on a node changes only with the node, its CSINode, or
// its pods, except on the slots of AppendApart.
func (s *limitsState) AppendAlike(dst []byte) ([]byte, bool) {
	e := s.limits
	if e.reason != "" || e.broken != "" || e.disk != "" {
		return dst, false
	}
	dst = key.Len(dst, len(s.drivers))
	for k := range s.drivers {
		d := &s.drivers[k]
		translated := 0
		for _, w := range d.disks {
			if w.translated {
				translated++
			}
		}
		dst = key.Len(key.Flag(key.Len(key.Text(dst, d.name), len(d.disks)), d.required), translated)
	}
	return dst, true
}

// AppendApart appends the slots with another verdict than that of Alike, because a pod there uses a volume of the pod: it takes no more of the node's
// limit. A slot may come several times. O(users of the pod's volumes).
func (s *limitsState) AppendApart(dst []int32) []int32 {
	var alike *limitsState
	for k := range s.drivers {
		for _, w := range s.drivers[k].disks {
			for _, slot := range s.usage.users[w.id] {
				if alike == nil {
					alike = s.Alike(s.usage).(*limitsState)
				}
				if i := int(slot); s.Check(i) != alike.Check(i) {
					dst = append(dst, slot)
				}
			}
		}
	}
	return dst
}

// unused is the number of a volume that no pod uses.
const unused = math.MinInt32

// Alike returns the state of the pods that are alike, over a usage.
func (s *limitsState) Alike(u *Usage) LimitsState {
	c := &limitsState{limits: s.limits, usage: u, drivers: slices.Clone(s.drivers)}
	for k := range c.drivers {
		d := &c.drivers[k]
		d.disks = slices.Clone(d.disks)
		for j := range d.disks {
			d.disks[j].id = unused
		}
	}
	return c
}
