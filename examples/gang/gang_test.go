package main

func Example() {
	main()
	// Output:
	// train: Scheduled, all needed pods have nodes
	//   train-0 on n1
	//   train-1 on n2
	//   train-2 on n1
	// tune: Unschedulable, pod group is unschedulable, 0/1 placements are available, first placement status: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, pod group preemption: found a placement for podgroup, preempting 1 victims
	//   batch-0 leaves
	// tune: Scheduled, all needed pods have nodes
	//   tune-0 on n3
	//   tune-1 on n2
	// serve-0 is gated: waiting for minCount pods from a gang to appear in scheduling queue
}
