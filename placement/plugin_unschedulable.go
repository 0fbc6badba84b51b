package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/taints"
)

// newNodeUnschedulable returns the filter of that name: it rejects a node with spec.unschedulable unless the pod tolerates
// the taint. The zero Options are v1.37's.
func newNodeUnschedulable(o taints.Options) *Plugin {
	return &Plugin{
		Name: plugins.NodeUnschedulable, Args: o,
		Keep: KeepByNode, AppendKey: podkey.Tolerations, KeyName: "tolerations",
		Hint: func(affinity.Namespaces) queue.Hint {
			return engine.HintOf(taints.Compile(nil, o).OnCordon(engine.NoNodes{}), o)
		},
		Filter: func(pod *v1.Pod, c Cluster) PreFiltered {
			return PreFiltered{Predicate: taints.Compile(pod.Spec.Tolerations, o).OnCordon(c)}
		},
	}
}
