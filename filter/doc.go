// Package filter decides which nodes can take a pod, and says in kube-scheduler's words why the others cannot.
//
// The flow:
//
//	fit := filter.CompileFit(pod, filter.FitOptions{})            // once per pod
//	ps := filter.Predicates{fit.Count(rows), filter.CompilePorts(pod).Count(cluster)}
//	found := filter.Search{Candidates: zones.Order(), Next: next, Limit: limit}.Run(ps, nil)
//	if len(found.Feasible) == 0 {
//		fmt.Println(filter.Message{Nodes: n, Reasons: found.Rejected.Counts(ps)}) // 0/5 nodes are available: ...
//	}
//
// The rule: a node takes the pod when every predicate allows it; the first one in plugin order that rejects gives the
// reasons. A predicate is anything with a name, a verdict per node and texts of verdicts, so the filters of the packages
// taints, affinity, spread and filter/volume take their places in the same list, and so may a caller's own. The runner
// knows nothing about any of them.
//
// The package's own predicates are NodeResourcesFit (Fit), NodePorts (Ports), NodeName and NodeDeclaredFeatures
// (Features); Claims rejects what needs dynamic resource allocation. Beside them stand scheduling gates (Gated,
// ValidateGatedUpdate), the scan order of nodes (ScanOrder), the size of the search (NumToFind), the joining of PreFilter
// answers (PreFilters), the failure message (Message), and the kubelet's admission of pods that name their node
// (Admission).
//
// Verdicts: 0 allows, other values are a predicate's own, and the bit Unresolvable says that removing pods cannot help.
// Resource amounts are thousandths of a core for cpu, pieces for pods and units (bytes) otherwise.
//
// A nil list or map is an empty one, and pods and nodes given by pointer are not nil, unless a comment says otherwise.
//
// Nothing here writes to its arguments, reads a clock or starts a goroutine. Evaluators are immutable; a State may be read
// by several goroutines while nothing is applied to it; a Trial and a Histogram belong to one. The outcome never
// depends on the order of maps, and the search is sequential: splitting the checks over workers does not change it.
//
// Cost: compiling is O(pod), Count O(resources of the pod) for resources and O(nodes) for ports, Check O(resources or
// ports of the pod) without allocation, a message over any number of nodes O(distinct reasons).
//
// Followed is Kubernetes v1.36: the documentation's "Scheduling Framework", "Scheduler Performance Tuning", "Pod
// Scheduling Readiness" and "Node-pressure Eviction", and the comments of the API's fields.
package filter
