package main

func Example() {
	main()
	// Output:
	// 0 s: n1 comes
	// 5 s: web comes
	// 5 s: web is bound to n1
	// 10 s: db comes
	// 10 s: db waits: 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
	// 15 s: n2 comes
	// 15 s: db is bound to n2
	// 20 s: pay comes
	// 20 s: pay waits: 0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement for pod on node n1, preempting 1 victims
	// 20 s: web is evicted
	// 20 s: pay is bound to n1
}
