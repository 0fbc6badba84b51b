package placement

import (
	"iter"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Cluster is what placement must see of a cluster. cluster.Snapshot offers it with all the optional interfaces that make
// it fast; Rows makes one out of three methods.
//
// A node's handle is its slot; Node(i) == nil marks a free slot. Pods yields the pods assigned to a slot, terminating ones
// included, Succeeded and Failed ones not. The vectors have the columns of Schema; column resources.Pods of Allocatable is
// the number of pods allowed, of Requested the number there. NonZero counts 100m cpu and 200Mi memory for containers that
// name none.
//
// Optional: Order() []int32, Slot(name string) int, Namespace(name string) (labels map[string]string, ok bool), the optional
// interfaces of the rule packages, and a change log with pod sets and term sets as cluster.Snapshot has them. A cluster
// with the latter gets the engine that keeps work for equal pods.
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
