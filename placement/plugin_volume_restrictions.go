package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/internal/plugins"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/queue"
)

// newVolumeRestrictions returns the filter of that name: disks that may not be attached twice, and ReadWriteOncePod claims.
// It skips a pod that has no such disk and whose ReadWriteOncePod claims no pod uses. As in v1.36, nominated pods do not
// count for a skipped pod. The zero Options are v1.36's.
func newVolumeRestrictions(o volume.Options) *Plugin { return restrictionsOver(o, nil) }

func restrictionsOver(o volume.Options, v *Volumes) *Plugin {
	return &Plugin{
		Name: plugins.VolumeRestrictions, Args: o,
		Group: GroupAbsent, AppendKey: volume.AppendKey, KeyName: "volumes", Skips: volume.Ignores,
		Hint:    func(affinity.Namespaces) queue.Hint { return volume.RestrictionsWouldHelp },
		Volumes: func(v *Volumes) *Plugin { return restrictionsOver(o, v) },
		Filter: func(pod *v1.Pod, c Cluster) Filtering {
			if volume.Ignores(pod) {
				return Filtering{Code: filter.Skip}
			}
			v := v.orNew(c)
			e := volume.Compile(pod, v.Objects(), o).Restrictions()
			if pre := e.PreFilter(); pre.Code != filter.Success {
				return Filtering{Code: pre.Code, Reasons: pre.Reasons}
			}
			s := e.On(v.inUse())
			if s.Skip() {
				return Filtering{Code: filter.Skip}
			}
			return Filtering{Predicate: restricted{s}}
		},
	}
}

type restricted struct{ volume.RestrictionsState }

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
