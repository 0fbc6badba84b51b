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

// newTaintToleration returns the filter and score of that name. The zero Options are v1.37's.
func newTaintToleration(o taints.Options) *Plugin {
	return &Plugin{
		Name: plugins.TaintToleration, Args: o, CanStopHolding: true,
		Keep: KeepByNode, AppendKey: podkey.Tolerations, KeyName: "tolerations",
		Hint: func(affinity.Namespaces) queue.Hint {
			return engine.HintOf(taints.Compile(nil, o).On(engine.NoNodes{}), o)
		},
		Filter: func(pod *v1.Pod, c Cluster) PreFiltered {
			return PreFiltered{Predicate: tainted{taints.Compile(pod.Spec.Tolerations, o).On(c)}}
		},
		Score: func(pod *v1.Pod, c Cluster) (Scorer, error) {
			return tolerated{State: taints.Compile(pod.Spec.Tolerations, o).On(c)}, nil
		},
	}
}

type tolerated struct {
	taints.State
	inRange
}

// Reads appends what the state reads of a node.
func (s tolerated) Reads(dst []string) []string { return engine.Reads(s.State, dst) }

type tainted struct{ taints.State }

// Reads appends what the state reads of a node.
func (s tainted) Reads(dst []string) []string { return engine.Reads(s.State, dst) }

// Numbers names each taint that rejects.
func (s tainted) Numbers(i int) []string {
	var out []string
	for _, x := range s.Explain(i) {
		if x.By < 0 && (x.Taint.Effect == v1.TaintEffectNoSchedule || x.Taint.Effect == v1.TaintEffectNoExecute) {
			out = append(out, x.String())
		}
	}
	return out
}
