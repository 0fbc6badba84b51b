// Package tracker (experimental) keeps what package [volumes] needs of a cluster: the ledger of decisions that the API objects do not show
// yet, the volumes that running pods use, and an index of the PersistentVolumes by storage class. It follows the change log
// of a [cluster.Snapshot], so that a decision does not count all pods again.
//
//	t := tracker.New(snapshot, tracker.Of(snapshot))              // once for each cluster
//	compiled := volumes.Compile(pod, t.Objects(), volumes.Options{}) // once for each attempt
//	binding, limits := compiled.Binding().On(snapshot), compiled.Limits().On(t.Usage())
//	decision, ok := binding.Bindings(i)                              // for the chosen slot
//	err := t.Reserve(pod, i, decision)                               // until the API server has the decision
//	volumes, claims := decision.Objects()                            // what PreBind writes
//	t.Unreserve(pod)                                                 // the attempt has failed, or the cluster shows the objects
//
// Placers reserve with Assume: such a reservation also ends when the pod leaves the snapshot.
//
// The cost of following is O(pods of the slots that changed). A change of a node or of a storage object makes usage and index
// again: O(pods). Without a change log Usage counts all pods at each question.
//
// Package volumes has the rules, and package placement uses the tracker for the four volume plugins. A [Tracker] belongs to
// one goroutine. What all packages promise is said in [github.com/podberth/podberth].
package tracker
