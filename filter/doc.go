// Package filter decides which nodes can take a pod. It says in kube-scheduler's words why other nodes cannot.
//
//	fit := filter.CompileFit(pod, filter.FitOptions{}) // once per pod
//	ps := filter.Predicates{filter.CompilePorts(pod).On(snapshot), fit.On(rows)}
//	found := filter.Search{Candidates: filter.ScanOrder(snapshot), Next: next, Limit: limit}.Run(ps, nil)
//	if len(found.Feasible) == 0 {
//		fmt.Println(filter.Message{Nodes: n, Reasons: found.Rejected.Counts(ps)}) // 0/5 nodes are available: ...
//	}
//
// # The rule
//
// A node takes the pod when every predicate allows the node. The first predicate in plugin order that rejects the node gives
// the reasons. A [Predicate] is anything with a name, a verdict for each slot and texts for verdicts: the states of this
// package and of package volumes, and those of a caller. Every state rejects a free slot.
//
// The filters of this package:
//
//   - NodeResourcesFit ([Lacks], [CompileFit]) and NodePorts ([CompilePorts]),
//   - NodeName ([CompileNodeName]) and NodeDeclaredFeatures ([CompileFeatures]),
//   - scheduling gates ([Gated]).
//
// Around the filters: the scan order of nodes ([ScanOrder]), how many nodes to find ([NumToFind]), the search ([Search]),
// the answers of PreFilter plugins ([PreFilters]), the count of reasons ([Histogram]) and the message of a failure
// ([Message]).
//
// Amounts are thousandths of a core for cpu, a number of pods for pods, and units or bytes otherwise. A [Trial] and a
// [Histogram] belong to one goroutine. The search is sequential. What all packages promise is said in
// [github.com/podberth/podberth].
//
// Cost: compiling is O(pod). On is O(resources of the pod) for resources, O(pods) for ports and O(1) otherwise. Check is
// O(resources or ports of the pod) and does not allocate. A message is O(distinct reasons) for any number of nodes.
//
// This package follows Kubernetes v1.37: the documentation's "Scheduling Framework", "Scheduler Performance Tuning", "Pod
// Scheduling Readiness" and "Node-pressure Eviction", and the comments of the API's fields.
package filter
