package main

func Example() {
	main()
	// Output:
	// 9 replicas wanted, 8 have a place; no order places more: true
	//  web-0:n1 web-1:n3 web-2:n4 web-3:n2 web-4:n3 web-5:n4 web-6:n1 web-7:n4
	// constraint 0: topology.kubernetes.io/zone, maxSkew 1, minDomains 1, selector app=web
	//   a: 3 pods on 2 nodes, room for 0
	//   b: 2 pods on 1 nodes, room for 2
	//   c: 3 pods on 1 nodes, room for 0
	//   minimum 2 (set by b)
	// 3 replicas leave
	//  web-0:n1 web-2:n4 web-1:n3
	// constraint 0: topology.kubernetes.io/zone, maxSkew 1, minDomains 1, selector app=web
	//   a: 2 pods on 2 nodes, room for 0
	//   b: 1 pods on 1 nodes, room for 2
	//   c: 2 pods on 1 nodes, room for 0
	//   minimum 1 (set by b)
}
