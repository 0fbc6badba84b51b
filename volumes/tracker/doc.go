// Package tracker keeps what package volumes needs of a cluster: the ledger of decisions that the API objects do not show
// yet, the volumes that running pods use, and an index of the PersistentVolumes by storage class. It follows the change log
// of a cluster.Snapshot, so that a decision does not count all pods again.
//
// The flow:
//
//	t := tracker.New(snapshot, tracker.Of(snapshot))              // once for each cluster
//	pod := volumes.Compile(p, t.Objects(), volumes.Options{})     // once for each attempt
//	binding, limits := pod.Binding().On(snapshot), pod.Limits().On(t.Usage())
//	decision, ok := binding.Bindings(i)                           // for the chosen slot
//	err := t.Reserve(p, i, decision)                              // until the API server has the decision
//	volumes, claims := decision.Objects()                         // what PreBind writes
//	t.Unreserve(p)                                                // the attempt has failed, or the cluster shows the objects
//
// Placers reserve with Assume: such a reservation also ends when the pod leaves the snapshot.
//
// The cost of following is O(pods of the slots that changed). A change of a node or of a storage object makes usage and index
// again: O(pods). Without a change log Usage counts all pods at each question.
//
// A Tracker belongs to one goroutine. It keeps the objects of the cluster and never modifies them. Package volumes has the
// rules, and package placement uses the tracker for the four volume plugins.
package tracker
