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

// AppendAlike is for pods whose claims are bound to volumes of today's plugins, or wait without a free volume and without published
// capacity. Between equal keys only a change of a node changes a verdict.
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
		if b.volume == nil || b.migrated != nil {
			return dst, false
		}
		var required *v1.NodeSelector
		if b.volume.Spec.NodeAffinity != nil {
			required = b.volume.Spec.NodeAffinity.Required
		}
		dst = key.Optional(dst, required, key.NodeSelector)
	}
	dst = key.Len(dst, len(e.delayed))
	for k := range e.delayed {
		d := &e.delayed[k]
		if d.selected != "" || len(d.candidates) > 0 || d.counted {
			return dst, false
		}
		dst = key.Len(key.Text(dst, d.class.Provisioner), len(d.topologies))
		for _, t := range d.topologies {
			dst = key.Len(dst, len(t))
			for j := range t {
				dst = key.Texts(key.Text(dst, t[j].Key), t[j].Values)
			}
		}
	}
	return dst, true
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

// AppendAlike is for pods that the filter skips before it sees a running pod.
func (e *restrictionsFilter) AppendAlike(dst []byte) ([]byte, bool) {
	return dst, e.pre.Code == filter.Skip
}

// AppendAlike is for pods whose volumes no running pod uses. Between equal keys a verdict on a node changes only with the node, its
// CSINode, or its pods.
func (s *limitsState) AppendAlike(dst []byte) ([]byte, bool) {
	e := s.limits
	if e.reason != "" || e.broken != "" || e.disk != "" {
		return dst, false
	}
	dst = key.Len(dst, len(s.drivers))
	for k := range s.drivers {
		d := &s.drivers[k]
		for _, w := range d.disks {
			if s.usage.pods[w.id] > 0 {
				return dst, false
			}
		}
		dst = key.Flag(key.Flag(key.Len(key.Text(dst, d.name), len(d.disks)), d.required), d.onlyTranslated())
	}
	return dst, true
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
