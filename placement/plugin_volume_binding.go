package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/internal/plugins"
	"github.com/podberth/podberth/queue"
)

// newVolumeBinding returns the filter of that name. A node is allowed when it reaches the bound volumes and when the unbound
// claims find a volume there or can be provisioned there. Decision.Volumes is what would be bound. It skips a pod without
// claims. The zero Options are v1.36's.
func newVolumeBinding(o volume.Options) *Plugin { return bindingOver(o, nil) }

func bindingOver(o volume.Options, v *Volumes) *Plugin {
	return &Plugin{
		Name: plugins.VolumeBinding, Args: o,
		Group: GroupAbsent, AppendKey: volume.AppendKey, KeyName: "volumes", Skips: volume.Ignores,
		Hint:    func(affinity.Namespaces) queue.Hint { return volume.BindingWouldHelp },
		Volumes: func(v *Volumes) *Plugin { return bindingOver(o, v) },
		Filter: func(pod *v1.Pod, c Cluster) Filtering {
			if volume.Ignores(pod) {
				return Filtering{Code: filter.Skip}
			}
			v := v.orNew(c)
			e := volume.Compile(pod, v.Objects(), o).Binding()
			if pre := e.PreFilter(); pre.Code != filter.Success {
				return Filtering{Code: pre.Code, Reasons: pre.Reasons}
			}
			return Filtering{Predicate: binding{e.On(c)}}
		},
	}
}

type binding struct{ volume.BindingState }

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
