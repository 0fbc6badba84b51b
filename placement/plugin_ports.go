package placement

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/plugins"
	"github.com/podberth/podberth/queue"
)

// newNodePorts returns the filter of that name. A pod without host ports skips it.
func newNodePorts() *Plugin {
	return &Plugin{
		Name:  plugins.NodePorts,
		Group: GroupAbsent, AppendKey: filter.AppendPortsKey,
		Skips: func(pod *v1.Pod) bool { return filter.CompilePorts(pod).Skip() },
		Hint:  func(affinity.Namespaces) queue.Hint { return filter.PortsWouldHelp },
		Filter: func(pod *v1.Pod, c Cluster) Filtering {
			e := filter.CompilePorts(pod)
			if e.Skip() {
				return Filtering{Code: filter.Skip}
			}
			return Filtering{Predicate: ports{e.On(c)}}
		},
	}
}

type ports struct {
	filter.TrialState[filter.PortConflict]
}

// Numbers names the ports and the pods that hold them.
func (s ports) Numbers(i int) []string {
	var out []string
	for _, x := range s.Explain(i) {
		out = append(out, fmt.Sprintf("port %d: held by %s/%s", x.Want.HostPort, x.Holder.Namespace, x.Holder.Name))
	}
	return out
}
