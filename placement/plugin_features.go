package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release/plugins"
)

// newNodeDeclaredFeatures returns the filter of that name. A pod that needs no feature skips it.
func newNodeDeclaredFeatures() *Plugin {
	return &Plugin{
		Name: plugins.NodeDeclaredFeatures,
		Keep: KeepByNode, AppendKey: appendFeatures,
		Hint: func(affinity.Namespaces) queue.Hint {
			return engine.HintOf(filter.CompileFeatures(&v1.Pod{}), engine.NoOptions{})
		},
		Filter: func(pod *v1.Pod, c Cluster) PreFiltered {
			e := filter.CompileFeatures(pod)
			if e.Skip() {
				return PreFiltered{Code: filter.Skip}
			}
			return PreFiltered{Predicate: e.On(c)}
		},
	}
}

func appendFeatures(dst []byte, pod *v1.Pod) []byte {
	return key.Texts(dst, filter.RequiredFeatures(pod))
}
