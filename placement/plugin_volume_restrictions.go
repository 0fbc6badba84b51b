package placement

import (
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/volumes"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// newVolumeRestrictions returns the filter of that name: disks that may not be attached twice, and ReadWriteOncePod claims.
// It skips a pod that has no such disk and whose ReadWriteOncePod claims no pod uses. As in v1.37, nominated pods do not
// count for a skipped pod. The zero Options are v1.37's.
func newVolumeRestrictions(o volumes.Options) *Plugin { return restrictionsRule.plugin(o, nil) }

var restrictionsRule = volumeRule[*volumes.Usage, volumes.RestrictionsState]{
	name:      plugins.VolumeRestrictions,
	evaluator: (*volumes.Pod).Restrictions, reads: volumesInUse,
	predicate: func(s volumes.RestrictionsState) filter.Predicate {
		if s.Skip() {
			return nil
		}
		return restricted{s}
	},
	share: func(p *Plugin, o volumes.Options, v *volumetracker.Tracker) {
		p.Keep = keepByAllPods
		p.states = func(Cluster) hooks.Counting { return restrictionsCounting{o, v, new(volumes.RestrictionsState)} }
	},
}

type restricted struct{ volumes.RestrictionsState }

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
