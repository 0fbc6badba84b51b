package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/internal/podinfo"
)

// This file has the plugins about volumes. A pod without volumes of its own skips them all at once. Their field Volumes is
// what they share; a Plan sets it where it is nil.

// VolumeRestrictions is the filter of that name: disks that may not be attached twice, ReadWriteOncePod claims. The zero
// value is v1.36's.
type VolumeRestrictions struct {
	Options volume.Options
	Volumes *Volumes
}

// Name returns "VolumeRestrictions".
func (VolumeRestrictions) Name() string { return "VolumeRestrictions" }

// Filter prepares the predicate; a pod without such disks whose ReadWriteOncePod claims nobody uses skips it, so that, as in
// v1.36, pods nominated to a node do not count there.
func (p VolumeRestrictions) Filter(pod *v1.Pod, c Cluster) Filtering {
	if !stored(pod) {
		return Filtering{Code: filter.Skip}
	}
	v := p.Volumes.over(c)
	e := volume.Compile(pod, v.Objects(), p.Options).Restrictions()
	if pre := e.PreFilter(); pre.Code != filter.Success {
		return Filtering{Code: pre.Code, Reasons: pre.Reasons}
	}
	s := e.On(v.inUse())
	if s.Skip() {
		return Filtering{Code: filter.Skip}
	}
	return Filtering{Predicate: restricted{s}}
}

type restricted struct{ *volume.RestrictionsState }

// Numbers names the pods in the way.
func (s restricted) Numbers(i int) []string {
	var out []string
	for _, h := range s.Explain(i) {
		what, who := "a disk", "a pod that is not bound yet"
		if h.Claim != "" {
			what = "claim " + h.Claim
		}
		if h.Pod != nil {
			who = podinfo.Name(h.Pod)
		}
		out = append(out, what+" is used by "+who)
	}
	return out
}

// NodeVolumeLimits is the filter of that name: how many volumes the drivers attach to a node. The zero value is v1.36's.
type NodeVolumeLimits struct {
	Options volume.Options
	Volumes *Volumes
}

// Name returns "NodeVolumeLimits".
func (NodeVolumeLimits) Name() string { return "NodeVolumeLimits" }

// Filter prepares the predicate; a pod without claims and attached volumes skips it.
func (p NodeVolumeLimits) Filter(pod *v1.Pod, c Cluster) Filtering {
	if !stored(pod) {
		return Filtering{Code: filter.Skip}
	}
	v := p.Volumes.over(c)
	e := volume.Compile(pod, v.Objects(), p.Options).Limits()
	if pre := e.PreFilter(); pre.Code != filter.Success {
		return Filtering{Code: pre.Code, Reasons: pre.Reasons}
	}
	return Filtering{Predicate: limited{e.On(v.inUse())}}
}

type limited struct{ *volume.LimitsState }

// Numbers gives the volumes of each driver with a limit.
func (s limited) Numbers(i int) []string {
	var out []string
	for _, d := range s.Explain(i) {
		out = append(out, fmt.Sprintf("%s: %d attached and %d more, %d allowed", d.Driver, d.Attached, d.New, d.Limit))
	}
	return out
}

// VolumeBinding is the filter of that name: bound volumes are in reach, claims that wait find a volume or are provisioned.
// What would be bound is Decision.Volumes. The zero value is v1.36's, which scores nothing.
type VolumeBinding struct {
	Options volume.Options
	Volumes *Volumes
}

// Name returns "VolumeBinding".
func (VolumeBinding) Name() string { return "VolumeBinding" }

// Filter prepares the predicate; a pod without claims skips it.
func (p VolumeBinding) Filter(pod *v1.Pod, c Cluster) Filtering {
	if !stored(pod) {
		return Filtering{Code: filter.Skip}
	}
	e := volume.Compile(pod, p.Volumes.over(c).Objects(), p.Options).Binding()
	if pre := e.PreFilter(); pre.Code != filter.Success {
		return Filtering{Code: pre.Code, Reasons: pre.Reasons}
	}
	return Filtering{Predicate: binding{e.On(c)}}
}

type binding struct{ *volume.BindingState }

// Numbers names the claims that reject.
func (s binding) Numbers(i int) []string {
	var out []string
	for _, c := range s.Explain(i) {
		line := "claim " + c.Claim
		if c.Volume != "" {
			line += " with volume " + c.Volume
		}
		line += ": " + c.Reason
		if c.ZoneLabel != "" {
			line += " (its zone is that of " + c.ZoneLabel + " here)"
		}
		out = append(out, line)
	}
	return out
}

// VolumeZone is the filter of that name: the zones and regions in the labels of bound volumes. The zero value is v1.36's.
type VolumeZone struct {
	Options volume.Options
	Volumes *Volumes
}

// Name returns "VolumeZone".
func (VolumeZone) Name() string { return "VolumeZone" }

// Filter prepares the predicate; a pod whose volumes have no zones skips it.
func (p VolumeZone) Filter(pod *v1.Pod, c Cluster) Filtering {
	if !stored(pod) {
		return Filtering{Code: filter.Skip}
	}
	e := volume.Compile(pod, p.Volumes.over(c).Objects(), p.Options).Zone()
	if pre := e.PreFilter(); pre.Code != filter.Success {
		return Filtering{Code: pre.Code, Reasons: pre.Reasons}
	}
	return Filtering{Predicate: zoned{e.On(c)}}
}

type zoned struct{ *volume.ZoneState }

// Numbers names the labels of volumes that the node does not meet.
func (s zoned) Numbers(i int) []string {
	var out []string
	for _, z := range s.Explain(i) {
		out = append(out, fmt.Sprintf("volume %s: %s is %s", z.Volume, z.Key, strings.Join(z.Values, " or ")))
	}
	return out
}

// over returns the shared volumes, or new ones for a plugin that is used alone.
func (v *Volumes) over(c Cluster) *Volumes {
	if v == nil {
		return NewVolumes(c)
	}
	return v
}

// withVolumes returns the plugin with what f makes of its field Volumes; plugins without one stay as they are.
func withVolumes(plugin FilterPlugin, f func(own *Volumes) *Volumes) FilterPlugin {
	switch p := plugin.(type) {
	case VolumeRestrictions:
		p.Volumes = f(p.Volumes)
		return p
	case NodeVolumeLimits:
		p.Volumes = f(p.Volumes)
		return p
	case VolumeBinding:
		p.Volumes = f(p.Volumes)
		return p
	case VolumeZone:
		p.Volumes = f(p.Volumes)
		return p
	}
	return plugin
}

// share gives the plugins that have no Volumes those of the others, or new ones, and returns them.
func share(plugins []FilterPlugin, c Cluster) ([]FilterPlugin, *Volumes) {
	var v *Volumes
	for _, p := range plugins {
		withVolumes(p, func(own *Volumes) *Volumes { v = cmp.Or(v, own); return own })
	}
	v = v.over(c)
	out := slices.Clone(plugins)
	for k, p := range out {
		out[k] = withVolumes(p, func(own *Volumes) *Volumes { return cmp.Or(own, v) })
	}
	return out, v
}

// forked returns the profile with Volumes over a fork of the cluster.
func (p Profile) forked(c Cluster) Profile {
	of := map[*Volumes]*Volumes{nil: nil}
	p.Filters = slices.Clone(p.Filters)
	for k, plugin := range p.Filters {
		p.Filters[k] = withVolumes(plugin, func(own *Volumes) *Volumes {
			if _, known := of[own]; !known {
				of[own] = own.Fork(c)
			}
			return of[own]
		})
	}
	return p
}
