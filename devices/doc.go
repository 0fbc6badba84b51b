// Package devices (experimental) decides dynamic resource allocation: whether a node has devices for a pod's ResourceClaims, which devices
// the claims get, and what is written when the pod is bound.
//
//	inventory := devices.NewInventory(slices)                          // once per change of the slices
//	ledger := devices.NewLedger(inventory, claims...)                  // what allocations hold
//	allocator := devices.NewAllocator(ledger, class, compiler, devices.Options{})
//	compiled := devices.Compile(pod, objects, devices.NewExtendedResources(classes))
//	state := compiled.On(snapshot, allocator, devices.Clock{Now: now}) // filter and score
//	if state.Check(i) == 0 { allocation := state.Allocation(i) }
//
// # The rules
//
//  1. Pools without binding conditions come first, then pools with binding conditions; each group by driver and pool name.
//     Inside a pool the slices are ordered by name, and the devices of a slice as listed.
//  2. The search takes claims, requests and alternatives of firstAvailable in their order, depth first. The first choice of
//     devices that serves all requests wins. No device is preferred.
//  3. A device serves a request when it is free, the selectors of the class and of the request match, its capacity and the
//     counters of its pool suffice, the request tolerates its taints, and no constraint of the claim is violated.
//
// # Selectors, cost, release
//
// Selectors are CEL. The package does not evaluate CEL: the caller passes a [SelectorCompiler]. Without a compiler every
// selector is an error. Quantities are added and compared exactly.
//
// A [Ledger] may be read by several goroutines while nobody changes it. An [Allocator] and a [Search] belong to one
// goroutine; a [State] may be shared. What all packages promise is said in [github.com/podberth/podberth].
//
// Cost: O(devices that a node sees) when the first devices serve. In the worst case the cost is exponential in the number of
// requests, as in v1.37; [Options.Steps] and [Options.Stop] bound it. A selector is evaluated once for all devices of equal content.
//
// The package does not watch or write objects: Reserved, [Bound], [Unreserved] and [Deallocated] return the objects to write.
//
// Rules: documentation, "Dynamic Resource Allocation"; API reference, resource.k8s.io/v1. This package follows Kubernetes
// v1.37.2 with default feature gates, and earlier releases with [Options.Release]. Options remove the quirks of a release one by one. One
// difference:
// v1.37.2 changes a claim's amount of capacity while it searches when the amount's text is not a whole number, such as 7.5Gi.
// This package does not modify its input.
package devices
