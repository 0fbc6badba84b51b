package main

func Example() {
	main()
	// Output:
	// web waits: 0/1 nodes are available: 1 Insufficient cpu.
}
