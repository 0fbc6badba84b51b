package view

import v1 "k8s.io/api/core/v1"

// PodSets finds running pods by label. A pod set holds the running pods that are equal in namespace, labels and "is
// terminating".
type PodSets interface {
	// PodSets yields the number of each set with the label pair: key "" yields all sets, namespace "" those of every
	// namespace.
	PodSets(namespace, key, value string, yield func(id int32))
	// PodSet returns one pod of a set, the slots where its pods run and how many run on each.
	PodSet(id int32) (rep *v1.Pod, nodes, counts []int32)
}

// TermSets lists the running pods that have inter-pod affinity terms. A term set holds the running pods that are equal in
// namespace and in these terms.
type TermSets interface {
	// TermSets returns the number of sets. The ids run from 0 up. An id without nodes is free.
	TermSets() int
	// TermSet returns one pod of a set, the slots where its pods run and how many run on each.
	TermSet(id int32) (rep *v1.Pod, nodes, counts []int32)
}
