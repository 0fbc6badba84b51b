package main

func Example() {
	main()
	// Output:
	// web-1 goes to n2
	// web-2 goes to n1
	// web-3 waits: 0/2 nodes are available: 2 Insufficient cpu.
}
