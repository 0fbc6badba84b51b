package spread

import (
	"iter"

	v1 "k8s.io/api/core/v1"
)

// Cluster is the part of a cluster that counting reads. A node's handle is its slot; Node(i) == nil marks a free slot.
// Pods(i) yields the pods that are assigned to the node of slot i or assumed there. Terminating pods are included; Succeeded
// and Failed pods are not.
//
// A cluster may have more methods. They make counting faster and change no answer:
//
//	Domains(key string) (ids []int32, domains, have int)
//
// Domains returns for each slot the number of its value of a node label, -1 without the label or without a node. All
// numbers are below domains, and have is the number of slots that are not -1.
//
//	PodSets(namespace, key, value string, yield func(id int32))
//	PodSet(id int32) (rep *v1.Pod, nodes, counts []int32)
//
// A pod set is the running pods of one namespace that are equal in labels and in being deleted or not. PodSets yields the
// sets that have a label pair, all sets of the namespace when key is "". PodSet returns how many pods of a set run on which
// slots.
//
//	Classes(reads []string) (ids, reps []int32, ok bool)
//
// Classes returns for each slot a class of nodes that are equal in everything that reads names ("label:KEY", "name",
// "taints"), and one slot of each class.
type Cluster interface {
	Len() int
	Node(i int) *v1.Node
	Pods(i int) iter.Seq[*v1.Pod]
}
