// Package spread decides topology spread constraints: which nodes keep the pods that a selector matches evenly spread over
// zones, hosts or other domains (filter), and which nodes do so best (score).
//
// May the pod go to slot i?
//
//	verdict, err := spread.Check(pod, snapshot, i, spread.Options{}) // 0 allows
//
// About many nodes, compile and count once:
//
//	hard, err := spread.CompileHard(pod, spread.Options{}) // once for equal pods
//	if err != nil {
//		return err
//	}
//	state := hard.Count(snapshot) // once per cluster
//	var feasible []int32
//	for i := range snapshot.Len() {
//		if state.Check(i) == 0 { // per node, no allocation
//			feasible = append(feasible, int32(i))
//		}
//	}
//	soft, err := spread.CompileSoft(pod, spread.Options{})
//	if err != nil {
//		return err
//	}
//	scores := soft.Count(snapshot)
//	scores.Weigh(feasible, nil)
//	for _, i := range feasible {
//		fmt.Println(i, scores.Raw(int(i)))
//	}
//
// # The rule
//
// A domain is a value of the topology key on a node that counts. A node counts for a constraint when it has every key of the
// pod's constraints with the same whenUnsatisfiable, and the constraint's inclusion policies accept it. The filter rejects a
// node when
//
//	matching pods in its domain + (1 if the pod matches its own selector) - global minimum > maxSkew
//
// where the global minimum is the smallest count of a domain, 0 with fewer domains than minDomains. The raw score is the
// sum of matching pods * ln(domains + 2) + maxSkew - 1. Normalize turns it into 0 to 100.
//
// Matching pods are in the pod's namespace, assigned to a node and not being deleted. A nil selector matches no pod. An
// empty selector counts no pods, but the incoming pod still matches it. Counts are pods, skews are differences of pods.
//
// Counting costs O(nodes + pod sets), a verdict or raw score O(constraints). A pod set is the running pods that are equal in
// namespace, labels and whether they are terminating. What all packages promise is said in [github.com/podberth/podberth].
//
// # What else is here
//
// [HardState] also makes a [Report] (domains, room, excluded nodes), a place for n more replicas (Place) and an order in which
// to delete replicas (ScaleDownOrder). [CheckGroup] finds mistakes in a group of pods. [Defaults] are the default
// constraints of a profile. Package admission has the check of the API server, and package placement the queueing hint. Package history has
// SelectorSpread, the score of versions before 1.24.
//
// Package placement chooses a node, and package preemption chooses victims. This package does not move running pods.
//
// The package follows Kubernetes v1.37.2. docs/fidelity/spread.md lists the rules, their tests and the differences.
package spread
