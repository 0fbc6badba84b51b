package spread

import (
	"iter"

	v1 "k8s.io/api/core/v1"
)

// Cluster is the view of a cluster that counting needs. A node's handle is its slot; Node(i) == nil marks a free slot.
// Pods(i) yields the pods assigned to (or assumed on) the node of slot i, terminating ones included, Succeeded and Failed
// ones not.
//
// Three optional interfaces make counting faster and change no answer; they are found by type assertion.
//
//	Domains(key string) (ids []int32, domains, have int)
//
// gives each slot the number of its value of a node label (-1 without the label or without a node); all numbers are below
// domains, and have is the number of slots that are not -1.
//
//	PodSets(namespace, key, value string, yield func(id int32))
//	PodSet(id int32) (rep *v1.Pod, nodes, counts []int32)
//
// name the sets of running pods of a namespace that are equal in labels and in being deleted or not, limited to those with
// a label pair unless key is "", and say on which slots how many pods of a set run.
//
//	Classes(reads []string) (ids, reps []int32, ok bool)
//
// gives each slot a class of nodes that are equal in what reads names ("label:KEY", "name", "taints"), and a slot of each
// class.
type Cluster interface {
	Len() int
	Node(i int) *v1.Node
	Pods(i int) iter.Seq[*v1.Pod]
}
