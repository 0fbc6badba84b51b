// Package spread decides topology spread constraints: which nodes keep the pods that a selector matches evenly spread over
// zones, hosts or other domains (filter), and which do so best (score).
//
//	hard, err := spread.CompileHard(pod, spread.Options{}) // once per pod shape
//	state := hard.Count(cluster)                           // once per cluster, then state.Add and state.Remove
//	if state.Check(slot) == 0 { … }                        // per node, no allocation
//
//	soft, err := spread.CompileSoft(pod, spread.Options{})
//	scores := soft.Count(cluster)
//	scores.Weigh(feasible, nil); raw := scores.Raw(slot)
//
// A domain is a value of the topology key on a node that counts: it has every key of the pod's constraints of that action
// and the constraint's inclusion policies accept it. The filter rejects a node when
//
//	matching pods in its domain + (1 if the pod matches its own selector) - global minimum > maxSkew
//
// where the global minimum is the smallest count of a domain, 0 with fewer domains than minDomains. The raw score is the
// sum of matching pods * ln(domains + 2) + maxSkew - 1, and becomes 0..100 by Normalize.
//
// Matching pods are in the pod's namespace, assigned to a node and not being deleted. An absent selector matches nothing;
// an empty one counts nothing, yet matches the pod itself. Counts are pods, skews are differences of pods.
//
// Compiled values are immutable; states and trials belong to one goroutine while they move and can be read by many.
// Arguments are never modified, nothing depends on the order of maps. A nil list is an empty one; pods are not nil.
// Counting costs O(nodes + pod sets), a verdict or raw score O(constraints).
//
// Beside the filter and the score: Report (domains, room, excluded nodes), Place (where n more replicas go),
// ScaleDownOrder (which replicas to delete), CheckGroup (mistakes in a group of pods), default constraints of a profile,
// validation, queueing hints, and the SelectorSpread score of versions before 1.24.
//
// Not here: choosing a node (package placement), choosing victims (package preemption), moving running pods.
//
// It follows Kubernetes v1.36.3; docs/fidelity/spread.md lists the rules, their tests and the differences.
package spread
