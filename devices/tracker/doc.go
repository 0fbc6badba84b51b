// Package tracker (experimental) keeps what package [devices] needs of a cluster: the inventory of devices, the ledger of what allocations hold,
// the devices that attempts have reserved, and the extended resources that device classes provide. It follows the log of
// claims of a [cluster.Snapshot], so that a decision does not read all slices and claims again.
//
//	t := tracker.New(snapshot, tracker.Of(snapshot))              // once for each cluster
//	filter := t.Filter(tracker.Options{Compiler: compiler})       // once for each profile
//	compiled := filter.Compile(pod)                               // once for each attempt
//	if compiled.Code() == 0 {
//		state := filter.On(compiled)
//		fmt.Println(state.Check(i))                               // by node
//		t.Reserve(pod, state.Allocation(i))                       // until the API server has the allocation
//		claims, err := t.Bound(pod, state.Allocation(i), now)     // what PreBind writes
//	}
//
// Placers do the last step in the snapshot itself: Assume writes the claims of a pod into a snapshot, and Forget takes them
// back.
//
// The cost of following is O(claims that changed). A change of a ResourceSlice makes the inventory again: O(devices). Without a
// log of claims every question reads all objects again.
//
// Package devices has the rules, and package placement uses the tracker for the plugin DynamicResources. A [Tracker] belongs
// to one goroutine. What all packages promise is said in [github.com/podberth/podberth].
package tracker
