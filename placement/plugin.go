package placement

import (
	"iter"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/resources"
)

// Cluster is what placement must see of a cluster. cluster.Snapshot offers it with all the optional interfaces that make
// it fast; Rows makes one out of three methods.
//
// A node's handle is its slot; Node(i) == nil marks a free one. Pods yields the pods assigned to a slot, terminating ones
// included, Succeeded and Failed ones not. The vectors have the columns of Schema; column resources.Pods of Allocatable is
// the number of pods allowed, of Requested the number there. NonZero counts 100m cpu and 200Mi memory for containers that
// name none.
type Cluster interface {
	Len() int
	Node(i int) *v1.Node
	Pods(i int) iter.Seq[*v1.Pod]
	Namespaces() iter.Seq2[string, map[string]string]
	Schema() *resources.Schema
	Allocatable(i int) resources.Vector
	Requested(i int) resources.Vector
	NonZero(i int) (cpuMilli, memoryBytes int64)
}

// FilterPlugin decides which nodes may take a pod. The plugins of this package are such; a user's own takes part in
// everything: messages, tables, preemption (if its predicate is a Trialer) and reuse (if it is Signed).
type FilterPlugin interface {
	// Name is what messages and configurations call the plugin.
	Name() string
	// Filter prepares the predicate of one pod over one cluster. It must not change either.
	Filter(pod *v1.Pod, c Cluster) Filtering
}

// Filtering is what a plugin says about a pod before it sees a node (PreFilter), and the predicate for the nodes.
type Filtering struct {
	// Code is Success, or why the pod is rejected as a whole; Skip leaves the plugin out for this pod.
	Code filter.Code
	// Reasons go with a Code that rejects or fails.
	Reasons []string
	// Nodes are the names of the only nodes that can take the pod; nil stands for all.
	Nodes []string
	// Predicate answers for the nodes. nil allows all of them.
	Predicate filter.Predicate
}

// Trialer is a predicate that looks at running pods and can be asked what if one came or left. Predicates that are no
// Trialer do not look at other pods. A trial moves as v1.36's AddPod and RemovePod do; several trials of one predicate
// must not disturb each other.
type Trialer interface {
	NewTrial() filter.Trial
}

// ScorePlugin ranks the nodes that can take a pod.
type ScorePlugin interface {
	// Name is what tables and configurations call the plugin.
	Name() string
	// Score prepares the scorer of one pod over one cluster; nil leaves the plugin out for this pod (Skip). The error ends
	// the attempt.
	Score(pod *v1.Pod, c Cluster) (Scorer, error)
}

// Scorer gives raw scores. Raw is only asked about feasible slots. Without Normalizer they must lie in 0..100.
type Scorer interface {
	Raw(i int) int64
}

// Normalizer is a Scorer whose raw scores become 0..100 by what the feasible nodes got: lo and hi are the smallest and
// largest raw score among them.
type Normalizer interface {
	Normalize(raw, lo, hi int64) int64
}

// Weigher is a Scorer whose raw scores depend on which nodes are feasible. Weigh gets all feasible slots, or one slot of each
// group of nodes that are equal in all that the scorer reads, before Raw is called. counts[j] is how many nodes are like
// slots[j]; nil: 1 each. Weigh must not keep the slices.
type Weigher interface {
	Weigh(slots, counts []int32)
}

// Ignorer is a Scorer that leaves some feasible nodes out: they get 0 after normalizing and do not enter lo and hi.
type Ignorer interface {
	Ignored(i int) bool
}

// Signed is a predicate or scorer whose answers may be kept. AppendSignature appends integers that determine the verdict,
// or the raw score, of slot i, and that change only when the node object of slot i does. Slots of equal signature are
// asked about once.
type Signed interface {
	AppendSignature(dst []int32, i int) []int32
}
