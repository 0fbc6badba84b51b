// Package score rates the feasible nodes of a pod and chooses one: by free or used resources, balance and images, with the
// weights, normalization and tie rules of kube-scheduler.
//
//	fit, err := score.CompileAllocation(pod, score.FitArgs{}, score.Options{}) // once per pod shape
//	state := fit.Count(cluster)                                                // once per cluster
//	column := score.Column{Plugin: "NodeResourcesFit", Weight: 1}
//	for _, i := range feasible {
//		column.Scores = append(column.Scores, state.Raw(i))
//	}
//	chosen, err := score.Choose(names, columns, nil)                           // total, ties, RangeError
//
// The rule: total = sum of weight x normalized score over the plugins that do not skip, plus 10 x weight x score of every
// extender; the highest total wins. LeastAllocated is the weighted mean of (allocatable-requested)*100/allocatable,
// MostAllocated that of requested*100/allocatable, RequestedToCapacityRatio that of a shape at this utilization, without
// zeros and rounded; NodeResourcesBalancedAllocation of v1.36 is 50 + (50+with-without)/2, with and without being 100
// minus the standard deviation of the shares in use. All integers truncate where kube-scheduler truncates.
//
// Units: cpu in thousandths of a core, everything else in units; raw scores of this package are 0 to 100 and need no
// normalization; those of other plugins are brought there by Proportional or by their own rule. Weights are positive.
//
// Evaluators are immutable. States of resource scores read the cluster's rows when asked, so that they stay right while
// pods and nodes come and go, and depend on the slot alone; states of images and avoidance are as of Count, and are made
// anew after a node event. Nothing is modified, nothing is random: ties are settled by a function of the caller. A nil pod
// is an empty one, and so is a nil list, unless a comment says otherwise.
//
// Cost: a compile is O(containers + resources), a raw score O(resources) without allocation. Images are O(images of all
// nodes) in Count unless the cluster offers ImageNodes.
//
// What a pod asks for is computed by package overhead; whether it fits, by filter; the scores of taints, affinity and
// spread, by the packages of those names. Calling extenders over HTTP is the caller's.
//
// Follows Kubernetes v1.36. Known differences: ties are settled by a stated rule instead of heap position, nodes that
// disagree on the size of an image take that of the first in order, sums saturate instead of wrapping around
// (docs/fidelity/score.md). Formulas of earlier releases are options: BalanceMode and Arithmetic.
package score
