// Package history (experimental) has the formulas and names of earlier Kubernetes releases, for readers who compare an older document or an
// older cluster with v1.37. No other package of the library imports history.
//
//	s, err := history.ZeroToTen(pod, args, snapshot) // NodeResourcesFit with scores of 0 to 10
//	for _, i := range feasible {
//		fmt.Println(s.Raw(i))
//	}
//
// A whole profile of an earlier release:
//
//	plan, err := placement.New(snapshot, history.Profile118(score.MaxScore))
//	q, err := queue.New(queue.Options{Legacy: queue.Legacy{CycleCounter: true}, Profiles: map[string]queue.Profile{"default-scheduler": {Events: history.Registrations128()}}})
//
// A formula is a [placement.Scorer] of raw scores, so that a profile can use it. It reads the cluster at each call and keeps nothing
// between calls. The code is written for readers, not for speed: a score takes O(resources of the pod and of the arguments) and may
// allocate. What all packages promise is said in [github.com/podberth/podberth].
//
// The comment of a formula names the releases that used it. The rules of v1.37 are in the packages score, spread, queue,
// filter and taints.
package history
