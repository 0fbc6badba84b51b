// Package spread decides topology spread constraints: which nodes keep the pods that a selector matches evenly spread over
// zones, hosts or other domains (filter), and which nodes do so best (score).
//
//	hard, err := spread.CompileHard(pod, spread.Options{}) // once per pod shape
//	if err != nil {
//		return err
//	}
//	state := hard.Count(cluster) // once per cluster
//	var feasible []int32
//	for i := range cluster.Len() {
//		if state.Check(i) == 0 { // per node, no allocation
//			feasible = append(feasible, int32(i))
//		}
//	}
//	soft, err := spread.CompileSoft(pod, spread.Options{})
//	if err != nil {
//		return err
//	}
//	scores := soft.Count(cluster)
//	scores.Weigh(feasible, nil)
//	for _, i := range feasible {
//		fmt.Println(i, scores.Raw(int(i)))
//	}
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
// Compiled values are immutable. Reads of states are safe concurrently while nothing moves the state. Arguments are never
// modified, and nothing depends on the order of maps. A nil list is an empty list. Nil pods, evaluators, states and clusters
// panic, except where a comment says otherwise. Counting costs O(nodes + pod sets), a verdict or raw score O(constraints).
//
// The package also has Report (domains, room, excluded nodes), Place (where n more replicas go), ScaleDownOrder (which
// replicas to delete), CheckGroup (mistakes in a group of pods), default constraints of a profile, validation and the
// queueing hint. Package history has SelectorSpread, the score of versions before 1.24.
//
// Package placement chooses a node, and package preemption chooses victims. This package does not move running pods.
//
// The package follows Kubernetes v1.37.2. docs/fidelity/spread.md lists the rules, their tests and the differences.
package spread
