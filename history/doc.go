// Package history has the formulas of earlier Kubernetes releases, and the names of that time, for readers who compare an
// older document or an older cluster with v1.36. No other package of the library uses them.
//
//	s, err := history.ZeroToTen(pod, args, cluster) // NodeResourcesFit with scores of 0 to 10
//	for _, i := range feasible {
//		fmt.Println(s(i))
//	}
//
// A whole profile of an earlier release:
//
//	plan, err := placement.New(snapshot, history.Profile118(score.MaxScore))
//	q, err := queue.New(queue.Options{CycleCounter: true, Profiles: map[string]queue.Profile{name: {Events: history.Registrations128()}}})
//
// A Scorer gives the raw score of a slot: it has the method that package placement asks for, so that a profile can use it.
// Scorers read the cluster when they are called, nothing is modified, and nothing is kept between calls. The rules are
// written to be read, not to be fast: a score is O(resources of the pod and of the arguments) and may allocate.
//
// The releases in which a formula held stand in its comment. The rules of v1.36 are in the packages score, spread, queue,
// filter and taints.
package history
