package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/plugins"
	"github.com/podberth/podberth/queue"
)

// NodeDeclaredFeatures is the filter of that name. A pod that needs no feature skips it. The zero FeaturesOptions are
// v1.36's.
func NodeDeclaredFeatures(o filter.FeaturesOptions) *Plugin {
	p := &Plugin{
		Name: plugins.NodeDeclaredFeatures, Args: o,
		Group: GroupStatics, AppendKey: filter.AppendFeaturesKey,
		Hint: func(affinity.Namespaces) queue.Hint { return filter.FeaturesHint(o) },
		Filter: func(pod *v1.Pod, c Cluster) Filtering {
			e := filter.CompileFeatures(pod, o)
			if e.Skip() {
				return Filtering{Code: filter.Skip}
			}
			return Filtering{Predicate: e.On(c)}
		},
	}
	if o.Required != nil { // what the caller's function reads of a pod is not known
		p.Group = GroupNever
	}
	return p
}
