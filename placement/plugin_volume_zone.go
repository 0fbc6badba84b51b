package placement

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/internal/plugins"
	"github.com/podberth/podberth/queue"
)

// newVolumeZone returns the filter of that name: a node must be in the zones and regions of the labels of bound volumes. It
// skips a pod whose volumes have no such labels. The zero Options are v1.36's.
func newVolumeZone(o volume.Options) *Plugin { return zoneOver(o, nil) }

func zoneOver(o volume.Options, v *Volumes) *Plugin {
	return &Plugin{
		Name: plugins.VolumeZone, Args: o,
		Group: GroupAbsent, AppendKey: volume.AppendKey, KeyName: "volumes", Skips: volume.Ignores,
		Hint:    func(affinity.Namespaces) queue.Hint { return volume.ZoneWouldHelp },
		Volumes: func(v *Volumes) *Plugin { return zoneOver(o, v) },
		Filter: func(pod *v1.Pod, c Cluster) Filtering {
			if volume.Ignores(pod) {
				return Filtering{Code: filter.Skip}
			}
			v := v.orNew(c)
			e := volume.Compile(pod, v.Objects(), o).Zone()
			if pre := e.PreFilter(); pre.Code != filter.Success {
				return Filtering{Code: pre.Code, Reasons: pre.Reasons}
			}
			return Filtering{Predicate: zoned{e.On(c)}}
		},
	}
}

type zoned struct {
	filter.State[volume.ZoneConflict]
}

// Numbers names the labels of volumes that the node does not meet.
func (s zoned) Numbers(i int) []string {
	var out []string
	for _, z := range s.Explain(i) {
		out = append(out, fmt.Sprintf("volume %s: %s is %s", z.Volume, z.Key, strings.Join(z.Values, " or ")))
	}
	return out
}
