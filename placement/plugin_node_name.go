package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/release/plugins"
)

// newNodeName returns the filter of that name, by the rule of a release. It allows all nodes for a pod without spec.nodeName.
func newNodeName(v release.Version) *Plugin {
	return &Plugin{
		Name: plugins.NodeName,
		Keep: KeepByNode, AppendKey: podkey.NodeName,
		Hint: func(affinity.Namespaces) queue.Hint {
			return engine.HintOf(filter.CompileNodeName(&v1.Pod{}), engine.NoOptions{})
		},
		Filter: func(pod *v1.Pod, c Cluster) PreFiltered {
			e := filter.CompileNodeName(pod)
			if e.Skip() {
				return PreFiltered{}
			}
			f := PreFiltered{Predicate: e.On(c)}
			if namesNode(v) {
				f.Nodes = []string{pod.Spec.NodeName}
			}
			return f
		},
	}
}
