// Package cluster holds a cluster as scheduling looks at it: nodes in slots, the pods on them, and indexes that make the
// questions of the other packages cheap.
//
// The flow:
//
//	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: pods, Namespaces: namespaces})
//	info := snapshot.Prepare(pod)                       // once per kind of pod
//	err = snapshot.AssumePrepared(info, pod, slot)      // the pod counts on that slot from now on
//	mark := snapshot.Mark()                             // what if ...
//	snapshot.Rollback(mark)                             // ... and back
//	branch := snapshot.Fork()                           // or on a copy that costs a microsecond
//	snapshot.Since(version, func(events []cluster.Event) { … }) // what changed, pod by pod
//
// A slot is a plain int, stable while its node exists. Rows hold what a slot offers and what its pods ask for, by the columns
// of a resources.Schema: requested(slot) = sum over its pods of requests(pod), each rounded up, limited to int64. A pod set is
// the running pods equal in namespace, labels and whether they are terminating; a term set those equal in namespace and
// inter-pod terms; a domain index numbers the values of a label; classes divide the nodes by all that a predicate reads.
//
// Pods that have ended (phase Succeeded or Failed) hold nothing and are not here; pending pods are the queue's. A pod whose
// node is not here is an orphan: listed, counted nowhere. Units are those of package resources.
//
// Objects are kept by pointer and never modified; the caller must not modify them either. Reads may run beside each other,
// everything else must be alone on its snapshot. Forks are independent of each other. The answers do not depend on map order.
// Slices and iterators are read-only and, unless they say otherwise, valid until the next change.
//
// Cost: New O(objects); Assume, Forget and Update O(pods of the node); Mark and Fork O(1); a first write after a Fork copies
// the part that it touches; nothing here is O(cluster) but New, an index's first use and changes of nodes.
//
// A Snapshot satisfies the optional interfaces of every package of this module. It decides nothing: whether a pod fits is
// asked of package filter, where it fits best of package placement.
package cluster
