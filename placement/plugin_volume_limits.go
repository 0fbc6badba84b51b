package placement

import (
	"fmt"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/internal/plugins"
	"github.com/podberth/podberth/placement/internal/reuse"
)

// newNodeVolumeLimits returns the filter of that name: each driver attaches a limited number of volumes to a node. It skips a
// pod without claims and attached volumes. The zero Options are v1.36's.
func newNodeVolumeLimits(o volume.Options) *Plugin { return limitsRule.plugin(o, nil) }

var limitsRule = volumeRule[*volume.Usage, volume.LimitsState]{
	name: plugins.NodeVolumeLimits, hint: volume.LimitsWouldHelp,
	evaluator: (*volume.Pod).Limits, reads: volumesInUse,
	predicate: func(s volume.LimitsState) filter.Predicate { return limited{s} },
	share: func(p *Plugin, o volume.Options, v *Volumes) {
		p.Group = groupStates
		p.states = func(Cluster) reuse.Counting { return limitsCounting{o, v} }
	},
}

type limited struct{ volume.LimitsState }

// Numbers gives the volumes of each driver with a limit.
func (s limited) Numbers(i int) []string {
	var out []string
	for _, d := range s.Explain(i) {
		out = append(out, fmt.Sprintf("%s: %d attached and %d more, %d allowed", d.Driver, d.Attached, d.New, d.Limit))
	}
	return out
}
