package main

func Example() {
	main()
	// Output:
	// as it is                                 53 of 100 pods fit
	// if nightly were gone                     64 of 100 pods fit
	// if nightly were gone and n3 cordoned     37 of 100 pods fit
	// as it is, again                          53 of 100 pods fit
	// if there were a node n4                  80 of 100 pods fit
	// as it is, beside the fork                53 of 100 pods fit
}
