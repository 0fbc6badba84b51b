// Package podberth is the entrance to Kubernetes scheduling, preemption and eviction as a library of primitives. The
// packages beside it do the work; each can be imported alone.
//
//	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: pods})
//	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
//	d := placer.Decide(pod, placement.Options{})
//	if d.Placed() {
//		err = placer.Assume(pod, d)
//	}
//
// Package overhead computes what a pod asks for, as vectors of package resources. Each other package answers one question:
//
//   - Which nodes may take the pod? taints, affinity, spread, filter, volumes, devices.
//   - Which of these nodes is best? score.
//   - Which pod is next? queue.
//   - Which pods make room? preemption.
//   - Which pods leave a node, and when? eviction/pressure, eviction/disruption, eviction/taint,
//     eviction/devicetaint.
//   - What do controllers make, and what happens when nodes fail? planning/workload, planning/failures.
//
// Package cluster holds the state of a cluster. Package placement uses all of them and answers "where can this pod go, and why
// not elsewhere?".
//
// Where to start reading: examples/thin is a scheduler in one file of 200 lines, which wires queue, placement and preemption to
// a client; go run ./examples/watch shows it at work. examples/pieces wires the pieces by hand, without placement. examples/embed is
// a controller that asks placement over its own node cache.
//
// All packages follow Kubernetes v1.37.2 with its default feature gates; docs/fidelity.md has the rules, the tests that hold
// them and the known differences. No package does I/O, reads a clock, starts a goroutine or logs.
package podberth
