package placement

import (
	"fmt"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/volumes"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// newNodeVolumeLimits returns the filter of that name: each driver attaches a limited number of volumes to a node. It skips a
// pod without claims and attached volumes. The zero Options are v1.37's.
func newNodeVolumeLimits(o volumes.Options) *Plugin { return limitsRule.plugin(o, nil) }

var limitsRule = volumeRule[*volumes.Usage, volumes.LimitsState]{
	name:      plugins.NodeVolumeLimits,
	evaluator: (*volumes.Pod).Limits, reads: volumesInUse,
	predicate: func(s volumes.LimitsState) filter.Predicate { return limited{s} },
	share: func(p *Plugin, o volumes.Options, v *volumetracker.Tracker) {
		p.Keep = keepByAllPods
		p.states = func(c Cluster) hooks.Counting { return limitsCounting{o, v, c, new(volumes.LimitsState)} }
	},
}

type limited struct{ volumes.LimitsState }

// Numbers gives the volumes of each driver with a limit.
func (s limited) Numbers(i int) []string {
	var out []string
	for _, d := range s.Explain(i) {
		out = append(out, fmt.Sprintf("%s: %d attached and %d more, %d allowed", d.Driver, d.Attached, d.New, d.Limit))
	}
	return out
}
