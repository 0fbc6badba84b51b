package main

func Example() {
	main()
	// Output:
	// "" goes to n1
	// "10" goes to n3
	// "400" waits: 0/3 nodes are available: 3 node(s) had a slower network.
	//   a node with 800 would help: true <nil>
}
