// Package placement answers "where can this pod go, and why not elsewhere?" for one scheduler profile: it composes the
// predicates and scores of the other packages over one cluster.
//
//	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: pods})
//	plan, err := placement.New(snapshot, placement.DefaultProfile())
//	d := plan.Decide(pod, placement.Options{})
//	if d.Placed() {
//		err = plan.Assume(pod, d) // the next decision sees it
//	} else {
//		fmt.Println(d.Failure.Text()) // 0/5 nodes are available: …
//	}
//
// The rule: a node is feasible when no filter rejects it; with one feasible node it is taken, with several the one with
// the largest total of weight x normalized score (0 to 100) of all score plugins; of equal totals the first in scan order,
// or what Options.Tie says.
//
// Fits and Table explain: every plugin is asked about every node. PlaceAll, HowMany, WithNodes and Violations are the
// questions of those who plan. Prepare gives the single steps to callers who put something of their own between them, such
// as a scheduler with extension points. Rows makes a cluster out of three methods.
//
// A Plan changes neither pods nor cluster, except for Assume, Forget and PlaceAll, which say so. It belongs to one
// goroutine. The same cluster and pod give the same decision, whatever was asked before. A decision costs O(nodes) checks
// without allocation, plus O(nodes + pod sets) once for pods with topology constraints; over a cluster.Snapshot equal pods
// share that work.
//
// Ordering pods is package queue's business, finding who makes room package preemption's (Preempter asks it), binding pods
// and volumes the caller's.
//
// Follows kube-scheduler v1.36 with its default profile (documentation, "Scheduling Framework" and "Scheduler
// Configuration"). Known difference: v1.36 chooses among equal totals by the position in a heap; podberth takes the first.
package placement
