package affinity

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// WouldHelp is the queueing hint of NodeAffinity (rule A12.1). It reports whether an event could make a pod schedulable
// that node affinity rejected: a node was added or its labels changed, the affinity of profile and pod matches the new
// node, and the affinity of the pod did not match the old node. old and new are *v1.Node; old is nil for an addition. A
// deletion does not help.
//
// It is an error when no required term of the pod matches and one of them cannot be converted, and when old or new has
// another type. A queue treats an error as yes. The method value NodeOptions{}.WouldHelp is a hint of package queue.
func (o NodeOptions) WouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	before, after, err := eventObjects[v1.Node](old, new)
	if err != nil {
		return false, err
	}
	e, _ := CompileNode(pod, o) // a conflict of names does not matter: no node matches such a pod
	return e.wouldHelp(before, after)
}

// eventObjects returns the objects of an event, nil for a missing object.
func eventObjects[T any](old, new any) (before, after *T, err error) {
	before, wasT := old.(*T)
	after, isT := new.(*T)
	if old != nil && !wasT || new != nil && !isT {
		return nil, nil, fmt.Errorf("objects of an event: got %T and %T, want %T", old, new, after)
	}
	return before, after, nil
}

func (e *NodeEvaluator) wouldHelp(old, new *v1.Node) (bool, error) {
	if new == nil || !e.added.required.Matches(new) {
		return false, nil
	}
	matched, err := e.required.match(new)
	if err != nil || !matched {
		return err != nil, err
	}
	if old == nil {
		return true, nil
	}
	matched, err = e.required.match(old)
	return !matched, err
}

// match is Matches with v1.36.3's error when nothing matches. It tests the nodeSelector first.
func (s *Selector) match(node *v1.Node) (bool, error) {
	if !s.selects(node) {
		return false, nil
	}
	if s.matchesTerms(node) {
		return true, nil
	}
	return false, s.err
}

// WouldHelp is the queueing hint of InterPodAffinity (rules A12.2 and A12.3). It reports whether an event could make a pod
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
// L7.7 to L7.10). It is an error when a term of the pod cannot be converted, or when old or new has another type. A queue
// treats an error as yes. The method value PodOptions{}.WouldHelp is a hint of package queue.
func (o PodOptions) WouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	e, err := CompilePods(pod, o)
	if err != nil {
		return false, err
	}
	if isNode(old) || isNode(new) {
		before, after, err := eventObjects[v1.Node](old, new)
		if err != nil {
			return false, err
		}
		return e.wouldHelpNode(before, after), nil
	}
	before, after, err := eventObjects[v1.Pod](old, new)
	if err != nil {
		return false, err
	}
	return e.wouldHelpPod(before, after), nil
}

func isNode(o any) bool {
	_, ok := o.(*v1.Node)
	return ok
}

func (e *PodEvaluator) wouldHelpNode(old, new *v1.Node) bool {
	if new == nil {
		return false
	}
	for i := range e.affinity {
		now, has := new.Labels[e.affinity[i].key]
		if !has {
			continue
		}
		if old == nil {
			return true
		}
		if was, had := old.Labels[e.affinity[i].key]; !had || was != now {
			return true
		}
	}
	if old == nil {
		return len(e.anti) > 0
	}
	for i := range e.anti {
		was, had := old.Labels[e.anti[i].key]
		if now, has := new.Labels[e.anti[i].key]; had && (!has || was != now) {
			return true
		}
	}
	return false
}

func (e *PodEvaluator) wouldHelpPod(old, new *v1.Pod) bool {
	pod := new
	if pod == nil {
		pod = old
	}
	if pod == nil {
		return false
	}
	if old != nil && new != nil && new.UID == e.pod.UID {
		return ownChangeHelps(e.release)
	}
	if !countsAsPlaced(e.release, pod) {
		return false
	}
	switch {
	case old == nil:
		return all(e.affinity, new)
	case new == nil:
		return meets(e.release, e.anti, old) || blockedBy(e.release, e.pod, old)
	}
	if !all(e.affinity, old) && all(e.affinity, new) {
		return true
	}
	return meets(e.release, e.anti, old) && !meets(e.release, e.anti, new)
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
