// Package tracker keeps what package devices needs of a cluster: the inventory of devices, the ledger of what allocations hold,
// the devices that attempts have reserved, and the extended resources that device classes provide. It follows the log of
// claims of a cluster.Snapshot, so that a decision does not read all slices and claims again.
//
// The flow:
//
//	t := tracker.New(snapshot, tracker.Of(snapshot))              // once for each cluster
//	filter := t.Filter(tracker.Options{Compiler: compiler})       // once for each profile
//	pod := filter.Compile(p)                                      // once for each attempt
//	if pod.Code() == 0 { state := filter.On(pod); state.Check(i) } // by node
//	t.Reserve(p, state.Allocation(i))                             // until the API server has the allocation
//	claims, err := t.Bound(p, state.Allocation(i), now)           // what PreBind writes
//
// Placers do the last step in the snapshot itself: Assume writes the claims of a pod into a snapshot, and Forget takes them
// back.
//
// The cost of following is O(claims that changed). A change of a ResourceSlice makes the inventory again: O(devices). Without a
// log of claims every question reads all objects again.
//
// A Tracker belongs to one goroutine. It keeps the objects of the cluster and never modifies them. Package devices has the
// rules, and package placement uses the tracker for the plugin DynamicResources.
package tracker
