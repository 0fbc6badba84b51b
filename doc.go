// Package podberth is the entrance to Kubernetes scheduling, preemption and eviction as a library of primitives. The
// packages beside it do the work; each can be imported alone.
//
//	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: pods})
//	plan, err := placement.New(snapshot, placement.DefaultProfile())
//	d := plan.Decide(pod, placement.Options{})
//	if d.Placed() {
//		err = plan.Assume(pod, d)
//	}
//
// What a pod asks for is in overhead, in the vectors of resources. Which nodes may take it: taints, affinity, spread, filter
// and filter/volume. Which of them is best: score. Which pod is next: queue. Who makes room: preemption. Who leaves a node,
// and when: eviction/pressure, eviction/disruption and eviction/taint. Over all of it, cluster holds the state and placement
// answers "where can this pod go, and why not elsewhere?".
//
// Where to start reading: examples/thin is a scheduler in one file of 200 lines, which wires queue, placement and preemption to
// a client. examples/embed is a controller that asks placement over its own node cache.
//
// All packages follow Kubernetes v1.36.3 with its default feature gates; docs/fidelity.md has the rules, the tests that hold
// them and the known differences. No package does I/O, reads a clock, starts a goroutine or logs.
package podberth
