// Package placement answers "where can this pod go, and why not elsewhere?" for one scheduler profile: it composes the
// predicates and scores of the other packages over one cluster.
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
// # The rule
//
// A node is feasible when no filter rejects it. A single feasible node is chosen without scores. Of several the one with the
// largest total is chosen: the sum over the score plugins of weight x normalized score (0 to 100). Of equal totals the first
// in scan order is chosen, unless [Options.Tie] chooses.
//
// # Plan and Placer
//
// A [Plan] answers and changes nothing:
//
//   - Decide chooses a node, without an explanation. Rejections, Table and Choice ask every plugin and explain.
//   - Preempt finds the pods that could make room. Violations finds running pods whose rules no longer hold.
//   - Prepare gives the single steps to callers who do something between them, such as a scheduler with extension points.
//
// A [Placer] is a [Plan] over a [cluster.Snapshot] that also places pods: [Placer.Assume], [Placer.Forget], [Placer.PlaceAll],
// [Placer.HowMany], [Placer.WithNodes]. [Rows] makes a cluster out of three methods for callers without a Snapshot.
//
// A Plan belongs to one goroutine. A decision costs O(nodes) checks without allocation, and O(nodes + pod sets) once for a
// pod with topology constraints. Over a cluster.Snapshot equal pods share that work: the plan keeps it, and forgets what a
// change has touched. What all packages promise is said in [github.com/podberth/podberth].
//
// A pod that no API server has stored lacks what the API server sets: the priority of its class, and requests from its limits.
// [github.com/podberth/podberth/admission.Admit] sets it in a pod made from a template. A pod that was not admitted is decided as it is, and [Plan.Warnings] names the field.
//
// Package [queue] orders pods, package [preemption] finds victims, and the caller binds pods and volumes.
//
// The package follows kube-scheduler v1.37 with its default profile (documentation, "Scheduling Framework" and "Scheduler
// Configuration"). Known difference: v1.37 chooses among equal totals by the position in a heap; podberth takes the first.
package placement
