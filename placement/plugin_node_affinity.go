package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release/plugins"
)

// newNodeAffinity returns the filter and score of that name. A pod whose terms require metadata.name has only the named
// nodes. The zero NodeOptions are v1.37's.
func newNodeAffinity(o affinity.NodeOptions) *Plugin {
	skipsPlain, _ := must.Get(affinity.CompileNode(&v1.Pod{}, o)).SkipScore()
	return &Plugin{
		Name: plugins.NodeAffinity, Args: o, CanStopHolding: true,
		Keep: KeepByNode, AppendKey: podkey.NodeAffinity, KeyName: "node affinity",
		Hint: func(affinity.Namespaces) queue.Hint {
			return engine.HintOf(must.Get(affinity.CompileNode(&v1.Pod{}, o)), o)
		},
		Filter: func(pod *v1.Pod, c Cluster) PreFiltered { return filterNodeAffinity(pod, c, o) },
		Score: func(pod *v1.Pod, c Cluster) (Scorer, error) {
			if a := podinfo.NodeAffinity(pod); skipsPlain && (a == nil || a.PreferredDuringSchedulingIgnoredDuringExecution == nil) {
				return nil, nil // without compiling the required terms again
			}
			e, _ := affinity.CompileNode(pod, o)
			if skip, err := e.SkipScore(); skip || err != nil {
				return nil, err
			}
			return preferredNodes{NodeState: e.On(c)}, nil
		},
	}
}

type preferredNodes struct {
	affinity.NodeState
	inRange
}

// Reads appends what the state reads of a node.
func (s preferredNodes) Reads(dst []string) []string { return engine.Reads(s.NodeState, dst) }

func filterNodeAffinity(pod *v1.Pod, c Cluster, o affinity.NodeOptions) PreFiltered {
	e, _ := affinity.CompileNode(pod, o) // terms that cannot be converted match nothing, as in v1.37
	if e.Skip() {
		return PreFiltered{Code: filter.Skip}
	}
	names, pinned := e.Names()
	if !pinned {
		return PreFiltered{Predicate: nodeAffinity{e.On(c)}}
	}
	if len(names) == 0 {
		return PreFiltered{Code: filter.UnschedulableAndUnresolvable, Reasons: []string{"pod affinity terms conflict"}}
	}
	if len(names) <= fewNames {
		return PreFiltered{Nodes: names, Predicate: nodeAffinity{e.On(unclassed{c})}}
	}
	return PreFiltered{Nodes: names, Predicate: nodeAffinity{e.On(c)}}
}

// fewNames is the number of named nodes up to which each is evaluated when it is asked for. The pods of a DaemonSet name one.
const fewNames = 16

// unclassed is a cluster without classes of equal nodes.
type unclassed struct{ c Cluster }

func (u unclassed) Len() int { return u.c.Len() }

func (u unclassed) Node(i int) *v1.Node { return u.c.Node(i) }

type nodeAffinity struct{ affinity.NodeState }

// Reads appends what the state reads of a node.
func (s nodeAffinity) Reads(dst []string) []string { return engine.Reads(s.NodeState, dst) }

// Numbers names the labels and terms that do not match.
func (s nodeAffinity) Numbers(i int) []string { return s.Explain(i) }
