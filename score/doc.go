// Package score (experimental) computes the scores of resources, balance and images, adds up the scores of all plugins and extenders, and
// picks the best node.
//
//	fit, err := score.CompileAllocation(pod, score.FitArgs{}) // once for equal pods
//	if err != nil {
//		return err
//	}
//	state := fit.On(snapshot) // once per cluster
//	column := score.Column{Plugin: state.Name(), Weight: 1}
//	for _, i := range feasible {
//		column.Scores = append(column.Scores, state.Raw(i))
//	}
//	totals, err := score.Totals(names, []score.Column{column}, nil)
//	if err != nil {
//		return err
//	}
//	best := score.Best(totals, nil) // a position in feasible
//
// [ShapeAt] evaluates a shape, the function from utilization to score that [RequestedToCapacityRatio] has.
//
// # The scores
//
// The total of a node is the sum of weight x normalized score over the plugins that do not skip, plus 10 x weight x score of
// every extender. The highest total wins. The scores of this package are:
//
//   - [LeastAllocated]: the weighted mean of (allocatable - requested) x 100 / allocatable.
//   - [MostAllocated]: the weighted mean of requested x 100 / allocatable.
//   - RequestedToCapacityRatio: the weighted mean of a shape's value at requested x 100 / allocatable, without the resources
//     that score 0, rounded.
//   - NodeResourcesBalancedAllocation: 50 + (50 + with - without) / 2. The values with and without are 100 minus the standard
//     deviation, in percent, of the shares of resources in use with and without the pod.
//   - ImageLocality: the bytes of the pod's images on the node, each times the share of nodes that have the image, on a scale
//     from 23 MiB (0) to 1000 MiB per container (100).
//
// Integers are truncated where kube-scheduler truncates them. CPU is in thousandths of a core, other resources in units.
// Raw scores of this package are 0 to 100 and need no normalization.
//
// # Order and cost
//
// States of resource scores read the cluster's rows at every call, so that they follow pods and nodes. A state of images is
// a copy: call On again after a node event. Nothing is random: the caller's function settles ties. A nil pod is an empty
// pod. Methods of nil evaluators and states panic. What all packages promise is said in [github.com/podberth/podberth].
//
// A compile costs O(containers + resources), a raw score O(resources) without allocation. On of [CompileImages] costs O(images of all
// nodes), or O(slots + images of the pod) when the cluster has an index of images.
//
// Package [overhead] computes what a pod asks for, and package filter whether that fits. The scores of taints, affinity and
// spread are in the packages of those names. Package history has the formulas of earlier releases. This package does not
// call extenders: the caller does, and passes the answers as columns.
//
// The package follows Kubernetes v1.37. Known differences (docs/fidelity/score.md): a stated rule settles ties instead of
// the position in a heap; nodes that disagree on the size of an image take that of the first node in slot order; sums
// saturate instead of wrapping around.
package score
