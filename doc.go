// Package podberth is the entrance to Kubernetes scheduling, preemption and eviction as a library of primitives. The
// packages beside it do the work, and each can be imported alone. Where can this pod go, and why not elsewhere?
//
//	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: pods})
//	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
//	d := placer.Decide(pod, placement.Options{})
//	if d.Placed() {
//		err = placer.Assume(pod, d) // the next decision counts the pod
//	} else {
//		fmt.Println(d.Failure.Text()) // 0/5 nodes are available: …
//	}
//
// # Which package answers which question
//
// Most callers need two packages: [github.com/podberth/podberth/cluster] holds the nodes and pods, and
// [github.com/podberth/podberth/placement] puts all rules together. Each other package answers one question:
//
//   - Which nodes may take the pod? [github.com/podberth/podberth/filter], [github.com/podberth/podberth/taints],
//     [github.com/podberth/podberth/affinity], [github.com/podberth/podberth/spread],
//     [github.com/podberth/podberth/volumes], [github.com/podberth/podberth/devices].
//   - Which of these nodes is best? [github.com/podberth/podberth/score].
//   - What does the pod ask for? [github.com/podberth/podberth/overhead], in the vectors of
//     [github.com/podberth/podberth/resources].
//   - Which pod is next, and when is a failed pod tried again? [github.com/podberth/podberth/queue].
//   - Which pods make room? [github.com/podberth/podberth/preemption].
//   - Do the pods of a group go together? [github.com/podberth/podberth/podgroup].
//   - Which pods leave a node, and when? [github.com/podberth/podberth/eviction] names the four ways.
//   - What would have to change so that the pod gets a node? [github.com/podberth/podberth/diagnose]. Which rules of a
//     manifest can never be met? [github.com/podberth/podberth/diagnose/lint].
//   - What do controllers make, and what happens when nodes fail, are replaced or become fewer?
//     [github.com/podberth/podberth/planning/workload], [github.com/podberth/podberth/planning/failures],
//     [github.com/podberth/podberth/planning/rollout], [github.com/podberth/podberth/planning/consolidation].
//   - What does the API server do to a pod before the scheduler sees it? [github.com/podberth/podberth/admission].
//   - What was different in an earlier release? [github.com/podberth/podberth/release] and
//     [github.com/podberth/podberth/history].
//
// To read code first: examples/thin is a scheduler in one file of 200 lines, which wires queue, placement and preemption to
// a client; go run ./examples/watch shows it at work. examples/pieces wires the rules by hand, without placement.
// examples/embed is a controller that asks placement before it creates pods; examples/owncache asks over a node cache of its own.
//
// # What every package promises
//
// The comment of a package names only what is different there.
//
//   - Pure: no function does I/O, reads a clock, draws a random number, starts a goroutine or logs. Time and chance are
//     arguments.
//   - Read only: no function modifies an object that the caller passes. Objects are kept by pointer, so the caller must not
//     modify them either while a value made from them is in use. What a function returns, the caller must not modify, unless
//     the comment says that it is new.
//   - nil: a nil list or map is an empty one. A nil object or evaluator is a mistake of the caller and may panic, unless the
//     comment says what it means. So may a slot that does not exist. No other data makes a function panic: the error names
//     the object, the field, the value and what is allowed.
//   - Goroutines: what a Compile function returns is immutable. Several goroutines may read a state, a cluster or a ledger
//     while nobody changes it. A value that keeps memory between calls, such as a Plan or a Trial, belongs to one goroutine.
//   - Order: the same input gives the same answer. No answer depends on the order of a map, or on what was asked before. A
//     comment says where the order of nodes or pods matters.
//   - Release: the rules are those of Kubernetes v1.37.2 with its default feature gates. docs/fidelity.md lists the rules,
//     the tests that hold them, and the known differences. A field Release of options follows an earlier release.
//
// Packages under scheduler and tools run programs and do I/O; they say so.
//
// # Words
//
//   - A slot is the number of a node in a cluster, from 0 to Len()-1. It stays the same while the node exists. A slot
//     without a node is free, and every rule rejects it.
//   - A verdict is what a filter says about a slot: 0 allows. Other numbers belong to the filter, but for one bit of all
//     filters, Unresolvable of package resources: removing pods cannot help.
//   - Equal pods are pods for which a rule reads the same fields, such as the replicas of one workload. Compile once for
//     equal pods. Plans find equal pods by themselves, and keep work for the next one: kept work is the answers that a plan
//     stored and that no change has touched since.
//   - A pod set is the running pods that are equal in namespace, labels and whether they are terminating. Counting reads
//     each set once.
//   - A plugin that rejects a pod registers the events that may help. Its hint is a function that looks at one event and
//     agrees when the event may help this pod. The queue then tries the pod again.
package podberth
