package main

func Example() {
	main()
	// Output:
	// vision starts on n1 n2
	// language waits, pod train/language-1: 0/3 nodes are available: 3 Insufficient example.com/gpu.
	// speech starts on n3 n3
	// robots waits, pod train/robots-0: 0/3 nodes are available: 3 Insufficient example.com/gpu.
	// vision ends
	// language starts on n1 n2
	// robots waits, pod train/robots-2: 0/3 nodes are available: 3 Insufficient example.com/gpu.
	// waiting: [{robots 3 1}]
}
