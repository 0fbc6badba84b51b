// Package cluster holds a cluster in the form that the other packages read: nodes in slots, the pods on the nodes, and
// indexes that answer the questions of the other packages quickly.
//
// What would a node hold with one more pod?
//
//	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: pods, Namespaces: namespaces})
//	mark := snapshot.Mark()
//	err = snapshot.Assume(pod, slot)      // the pod counts on that slot from now on
//	requested := snapshot.Requested(slot)
//	snapshot.Rollback(mark)               // the pod is gone again
//
// # Slots, rows and indexes
//
// A slot is a plain int, stable while its node exists. [New] gives each node a slot. A node that Set adds gets a free slot
// if there is one. A row holds what a slot offers and what its pods ask for, by the columns of a [resources.Schema]:
//
//	requested(slot) = sum over the pods of the slot of requests(pod), each rounded up, limited to int64
//
// The indexes:
//
//   - A pod set is the running pods that are equal in namespace, labels and whether they are terminating (PodSets).
//   - A term set is the running pods that are equal in namespace and inter-pod affinity terms (TermSet).
//   - A domain is a value of a node label (Domains).
//   - A class is the nodes that are equal in everything that a predicate reads (Classes).
//
// The snapshot holds no finished pods (phase Succeeded or Failed) and no pending pods: package queue holds pending pods. A
// pod whose node is unknown is an orphan: Orphans lists it, and no row counts it. Units are those of package [resources].
//
// # Reads, writes, cost
//
// Reads and Fork may run concurrently. Any other call must not run concurrently with a call on the same snapshot. Forks are
// independent of each other. Slices and iterators are valid until the next change, unless their comments say otherwise. What
// all packages promise is said in [github.com/podberth/podberth].
//
// Cost: New takes O(objects). Assume, and Set and Remove of a pod, take O(pods of the node). Mark and Fork take O(1). The
// first write to a part after a Fork copies that part. Only [New], the first use of an index, and changes of nodes may take
// O(cluster).
//
// Every error of New, Set, Remove and Assume is or wraps a *field.Error, which [errors.As] finds. Its Type says what is wrong.
// [errors.Is] finds [ErrPlaced], [ErrUnknownNode] and [ErrDuplicate].
// A call that returns an error has changed nothing.
//
// A [Snapshot] satisfies the optional interfaces of every package of this module. It makes no decisions: package filter
// decides whether a pod fits a node, and package placement decides which node is best.
//
// This package follows Kubernetes v1.37.
package cluster
