package placement

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/internal/plugins"
	"github.com/podberth/podberth/queue"
)

// newNodeVolumeLimits returns the filter of that name: each driver attaches a limited number of volumes to a node. It skips a
// pod without claims and attached volumes. The zero Options are v1.36's.
func newNodeVolumeLimits(o volume.Options) *Plugin { return limitsOver(o, nil) }

func limitsOver(o volume.Options, v *Volumes) *Plugin {
	return &Plugin{
		Name: plugins.NodeVolumeLimits, Args: o,
		Group: GroupAbsent, AppendKey: volume.AppendKey, KeyName: "volumes", Skips: volume.Ignores,
		Hint:    func(affinity.Namespaces) queue.Hint { return volume.LimitsWouldHelp },
		Volumes: func(v *Volumes) *Plugin { return limitsOver(o, v) },
		Filter: func(pod *v1.Pod, c Cluster) Filtering {
			if volume.Ignores(pod) {
				return Filtering{Code: filter.Skip}
			}
			v := v.orNew(c)
			e := volume.Compile(pod, v.Objects(), o).Limits()
			if pre := e.PreFilter(); pre.Code != filter.Success {
				return Filtering{Code: pre.Code, Reasons: pre.Reasons}
			}
			return Filtering{Predicate: limited{e.On(v.inUse())}}
		},
	}
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
