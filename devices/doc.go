// Package devices decides dynamic resource allocation: which devices of ResourceSlices a pod's ResourceClaims get on a node,
// whether a node can serve them, and what is written when the pod is bound.
//
// The flow:
//
//	inventory := devices.NewInventory(slices)                          // once per change of the slices
//	ledger := devices.NewLedger(inventory, claims...)                  // what allocations hold
//	allocator := devices.NewAllocator(ledger, class, compiler, devices.Options{})
//	pod := devices.Compile(p, objects, devices.NewExtendedResources(classes))
//	state := pod.On(cluster, allocator, devices.Clock{Now: now})       // filter and score
//	if state.Check(i) == 0 { allocation := state.Allocation(i) }
//
// The rule: pools are searched in the order without and with binding conditions, then by driver and name; inside a pool the
// slices by name and the devices as listed. Claims, requests and alternatives of firstAvailable are taken in their order, and
// the first choice that serves all of them wins: a search depth first, without preference. A device serves a request when it
// is free, its class's and the request's selectors match, its capacity, the counters of its pool and its taints allow it,
// and no matchAttribute or distinctAttribute of the claim is violated.
//
// Selectors are CEL. The package does not evaluate them: the caller gives a SelectorCompiler, and without one a selector is
// an error. Quantities are added and compared exactly.
//
// Inventories and compiled pods are immutable. A Ledger may be read by several goroutines while none changes it. An Allocator
// and a Search belong to one goroutine; a State may be shared. Objects that are passed in are kept and never modified.
// Equal input gives equal output; share IDs are numbered unless Options.ShareID makes them.
//
// Cost: O(devices that a node sees) where the first devices serve; exponential in the number of requests at worst, as in
// v1.36, bounded by Options.Steps. A selector is evaluated once for all devices of equal content.
//
// Package devices does not watch or write: Reserved, Bound, Unreserved and Deallocated return the objects to be written.
//
// Rules: documentation, "Dynamic Resource Allocation"; API reference, resource.k8s.io/v1. This package follows Kubernetes
// v1.36.3 with default feature gates. Options remove v1.36's quirks one by one. A known difference: v1.36.3 modifies
// amounts of capacity that are no whole number in the text of a claim (such as 7.5Gi) while it searches; this package does
// not modify its input.
package devices
