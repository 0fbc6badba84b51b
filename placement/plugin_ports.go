package placement

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/follow"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release/plugins"
)

// newNodePorts returns the filter of that name. A pod without host ports skips it.
func newNodePorts() *Plugin {
	return &Plugin{
		Name: plugins.NodePorts,
		Keep: keepByAllPods, AppendKey: podkey.Ports,
		states: func(c Cluster) hooks.Counting { return portsCounting{c} },
		Hint: func(affinity.Namespaces) queue.Hint {
			return engine.HintOf(filter.CompilePorts(&v1.Pod{}), engine.NoOptions{})
		},
		Filter: func(pod *v1.Pod, c Cluster) PreFiltered {
			e := filter.CompilePorts(pod)
			if e.Skip() {
				return PreFiltered{Code: filter.Skip}
			}
			return PreFiltered{Predicate: ports{e.On(c)}}
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

// portsCounting keeps the work of NodePorts for pods with the same host ports.
type portsCounting struct{ cluster Cluster }

// Divides marks states whose predicates give all slots of equal AppendDomains one verdict.
func (portsCounting) Divides() {}

// Compile returns nil for a pod without host ports.
func (x portsCounting) Compile(pod *v1.Pod) (hooks.Compiled, error) {
	e := filter.CompilePorts(pod)
	log, ok := x.cluster.(follow.Log)
	if e.Skip() || !ok {
		return nil, nil
	}
	live := e.(interface {
		Live(c filter.Cluster) filter.TrialState[filter.PortConflict]
	})
	return &keptPorts{ports: ports{live.Live(x.cluster)}, key: podkey.Ports(nil, pod), cluster: x.cluster, log: log}, nil
}

// keptPorts is what pods with the same host ports share. It divides the nodes by whether the ports are free.
type keptPorts struct {
	unmoved
	ports
	key     []byte
	cluster Cluster
	log     follow.Log
}

var (
	_ hooks.Dividing = portsCounting{}
	_ hooks.Shifting = (*keptPorts)(nil)
)

func (k *keptPorts) AppendKey(dst []byte) []byte { return append(dst, k.key...) }
func (k *keptPorts) Count() hooks.State          { return k }

func (k *keptPorts) Filter() filter.Predicate { return k.ports }
func (*keptPorts) Score() hooks.Scorer        { return nil }

// AppendLayoutKey and AppendDomains divide the nodes by their verdicts.
func (k *keptPorts) AppendLayoutKey(dst []byte) []byte { return k.AppendKey(dst) }
func (k *keptPorts) AppendDomains(dst []int32, slot int) []int32 {
	return append(dst, int32(k.Check(slot)))
}

// Shifted yields the slots whose pods changed.
func (k *keptPorts) Shifted(version uint64, yield func(slot int)) uint64 {
	return changedSlots(k.log, k.cluster.Len(), version, yield)
}
