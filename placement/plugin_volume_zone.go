package placement

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/volumes"
)

// newVolumeZone returns the filter of that name: a node must be in the zones and regions of the labels of bound volumes. It
// skips a pod whose volumes have no such labels. The zero Options are v1.37's.
func newVolumeZone(o volumes.Options) *Plugin { return zoneRule.plugin(o, nil) }

var zoneRule = volumeRule[filter.Cluster, filter.State[volumes.ZoneConflict]]{
	name:      plugins.VolumeZone,
	evaluator: (*volumes.Pod).Zone, reads: slotsOf,
	predicate: func(s filter.State[volumes.ZoneConflict]) filter.Predicate { return zoned{s} },
	share:     staticVolumes(func(p *volumes.Pod) any { return p.Zone() }),
}

type zoned struct {
	filter.State[volumes.ZoneConflict]
}

// AppendSignature appends the verdict.
func (s zoned) AppendSignature(dst []int32, i int) []int32 { return append(dst, int32(s.Check(i))) }

// Numbers names the labels of volumes that the node does not meet.
func (s zoned) Numbers(i int) []string {
	var out []string
	for _, z := range s.Explain(i) {
		out = append(out, fmt.Sprintf("volume %s: %s is %s", z.Volume, z.Key, strings.Join(z.Values, " or ")))
	}
	return out
}
