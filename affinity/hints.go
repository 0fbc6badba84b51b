package affinity

import (
	"cmp"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/release"
)

// Hint is that of [engine.HintOf].
func (e *nodeEvaluator) Hint(o NodeOptions) engine.Hint { return o.wouldHelp }
func (e *podEvaluator) Hint(o PodOptions) engine.Hint   { return o.wouldHelp }

// wouldHelp is the queueing hint of NodeAffinity (rule A12.1). It reports whether an event could make a pod schedulable
// that node affinity rejected: a node was added or its labels changed, the affinity of profile and pod matches the new
// node, and the affinity of the pod did not match the old node. old and new are *v1.Node; old is nil for an addition. A
// deletion does not help.
//
// It is an error when no required term of the pod matches and one of them cannot be converted, and when old or new has
// another type. A queue treats an error as yes.
func (o NodeOptions) wouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	before, after, err := eventObjects[v1.Node](old, new)
	if err != nil {
		return false, err
	}
	e, _ := compileNode(pod, o) // a conflict of names does not matter: no node matches such a pod
	return e.wouldHelp(before, after)
}

// eventObjects is [engine.Typed] with the error of an object of another type.
func eventObjects[T any](old, new any) (before, after *T, err error) {
	before, after, ok := engine.Typed[T](old, new)
	if !ok {
		return nil, nil, fmt.Errorf("objects of an event: got %T and %T, want %T", old, new, after)
	}
	return before, after, nil
}

func (e *nodeEvaluator) wouldHelp(old, new *v1.Node) (bool, error) {
	if new == nil || !e.added.required.Matches(new) {
		return false, nil
	}
	matched, err := e.required.match(new)
	if !matched {
		return err != nil, err
	}
	if old == nil {
		return true, nil
	}
	matched, err = e.required.match(old)
	return !matched, err
}

// match is Matches with v1.37.2's error when nothing matches. It tests the nodeSelector first.
func (s *Selector) match(node *v1.Node) (bool, error) {
	if !s.selects(node) {
		return false, nil
	}
	if s.matchesTerms(node) {
		return true, nil
	}
	return false, s.err
}

// wouldHelp is the queueing hint of InterPodAffinity (rules A12.2 and A12.3). It reports whether an event could make a pod
// schedulable that inter-pod affinity rejected. old and new are *v1.Node or *v1.Pod; old is nil for an addition, new for a
// deletion. A node event helps when
//
//  1. the new node has the key of a required affinity term, and the old node did not have it or had another value;
//  2. the pod has required anti-affinity terms and the node was added, or lost the key of a term, or changed its value.
//
// A pod event helps when
//
//  1. the rejected pod itself was updated (equal UID);
//  2. a scheduled pod (it has a node or is nominated for one) was added and matches all required affinity terms;
//  3. a scheduled pod was changed: it matches all required affinity terms and did not before, or it matched all required
//     anti-affinity terms and does not any more;
//  4. a scheduled pod was deleted: it matched all required anti-affinity terms, or the rejected pod matches all its
//     required anti-affinity terms.
//
// No pod matches an empty list of terms. A namespaceSelector sees a namespace without labels. Other releases differ (rules
// L7.7 to L7.10). It is an error when a required term of the rejected pod or a required anti-affinity term of the deleted pod cannot be
// converted, and when old or new has another type. A queue treats an error as yes.
func (o PodOptions) wouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	if isNode(old) || isNode(new) {
		before, after, err := eventObjects[v1.Node](old, new)
		if err != nil {
			return false, err
		}
		return wouldHelpNode(pod, before, after)
	}
	before, after, err := eventObjects[v1.Pod](old, new)
	about := cmp.Or(after, before)
	switch {
	case about == nil:
		return false, err
	case before != nil && after != nil && after.UID == pod.UID:
		return ownChangeHelps(o.Release), nil
	case !countsAsPlaced(o.Release, about):
		return false, nil
	}
	return wouldHelpPod(o.Release, pod, before, after)
}

func isNode(o any) bool {
	_, ok := o.(*v1.Node)
	return ok
}

// wouldHelpNode reads the anti-affinity when the affinity does not decide.
func wouldHelpNode(pod *v1.Pod, old, new *v1.Node) (bool, error) {
	affinity, err := requiredAffinity(pod)
	if err != nil || new == nil {
		return false, err
	}
	for i := range affinity {
		now, has := new.Labels[affinity[i].key]
		if !has {
			continue
		}
		if old == nil {
			return true, nil
		}
		if was, had := old.Labels[affinity[i].key]; !had || was != now {
			return true, nil
		}
	}
	anti, err := requiredAntiAffinity(pod)
	if err != nil || old == nil {
		return len(anti) > 0, err
	}
	for i := range anti {
		was, had := old.Labels[anti[i].key]
		if now, has := new.Labels[anti[i].key]; had && (!has || was != now) {
			return true, nil
		}
	}
	return false, nil
}

func wouldHelpPod(v release.Version, pod, old, new *v1.Pod) (bool, error) {
	affinity, err := requiredAffinity(pod)
	if err != nil {
		return false, err
	}
	anti, err := requiredAntiAffinity(pod)
	switch {
	case err != nil:
		return false, err
	case old == nil:
		return all(affinity, new), nil
	case new == nil && meets(v, anti, old):
		return true, nil
	case new == nil:
		return blockedBy(v, pod, old)
	}
	return !all(affinity, old) && all(affinity, new) || meets(v, anti, old) && !meets(v, anti, new), nil
}

// all reports whether a pod matches all terms of a list, by the rule of the hint: a namespaceSelector sees a namespace without
// labels. No pod matches an empty list.
func all(terms []term, pod *v1.Pod) bool {
	for i := range terms {
		if !terms[i].matchesIn(pod, noLabels) {
			return false
		}
	}
	return len(terms) > 0
}

func noLabels() map[string]string { return nil }
