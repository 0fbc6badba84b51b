package main

func Example() {
	main()
	// Output:
	// conditions: [MemoryPressure]
	// cache: priority 0, uses 700 MiB, requests 0 MiB
	// web: priority 0, uses 1200 MiB, requests 1024 MiB
	// db: priority 1000, uses 5000 MiB, requests 4096 MiB
	// dns: priority 2000000000, uses 300 MiB, requests 100 MiB, stays: critical priority
	// report: priority -10, uses 2000 MiB, requests 2048 MiB
	// cache leaves now: The node was low on resource: memory. Threshold quantity: 500Mi, available: 400Mi. Container main was using 700Mi, request is 0, has larger consumption of memory.
	// cache frees 700 MiB, then 1100 MiB are available
	// web frees 1200 MiB, then 2300 MiB are available
	// target: 1524Mi reached: true
}
