package affinity

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// WouldHelp is the queueing hint of node affinity: whether the event could make a pod schedulable that node affinity
// rejected. old is nil when a node was added, new is the node after the event; both are set when labels changed. It is
// true when the profile's added affinity and the pod's own match new, and the pod's own did not match old.
//
// The error tells, when no required term of the pod matches, which of them cannot be converted; the queue treats an
// error as true.
func (e *NodeEvaluator) WouldHelp(old, new *v1.Node) (bool, error) {
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

// match is Matches with the error that v1.36.3 reports when nothing matched. The nodeSelector is tested first.
func (r *Required) match(node *v1.Node) (bool, error) {
	if !r.selects(node) {
		return false, nil
	}
	if r.affinity.Matches(node) {
		return true, nil
	}
	return false, r.affinity.err
}

// WouldHelpNode is the queueing hint of inter-pod affinity for node events: whether the event could make a pod schedulable
// that inter-pod affinity rejected. old is nil when the node was added; both are set when its labels changed. It is true
// when
//
//  1. new has the key of a required affinity term that old did not have, or had with another value;
//  2. the pod has required anti-affinity terms and the node was added, or lost a term's key, or changed its value.
//
// The error is the Rejection of CompilePods; the queue treats an error as true.
func (e *PodEvaluator) WouldHelpNode(old, new *v1.Node) (bool, error) {
	if e.err != nil {
		return true, e.err
	}
	if new == nil {
		return false, nil
	}
	for i := range e.affinity {
		now, has := new.Labels[e.affinity[i].key]
		if !has {
			continue
		}
		if old == nil {
			return true, nil
		}
		if was, had := old.Labels[e.affinity[i].key]; !had || was != now {
			return true, nil
		}
	}
	if old == nil {
		return len(e.anti) > 0, nil
	}
	for i := range e.anti {
		was, had := old.Labels[e.anti[i].key]
		if now, has := new.Labels[e.anti[i].key]; had && (!has || was != now) {
			return true, nil
		}
	}
	return false, nil
}

// WouldHelpPod is the queueing hint of inter-pod affinity for pod events. old is nil when the pod was added, new when it
// was deleted; both are set when its labels changed. known tells the namespaces, as a Cluster does. It is true when
//
//  1. the changed pod is the rejected pod itself;
//  2. a scheduled pod (it has a node, or a nomination for one) was added and matches all required affinity terms;
//  3. a scheduled pod began to match all required affinity terms, or ceased to match all required anti-affinity terms;
//  4. a scheduled pod was deleted that matched all required anti-affinity terms, or all of whose own required
//     anti-affinity terms match the rejected pod.
//
// A namespaceSelector is asked about a namespace without labels, whatever those of the pod's namespace are, unless
// PodOptions.DocumentedNamespaceSelector is set; known is read with that option only. An empty list of terms is never
// matched. The error is the Rejection of CompilePods; the queue treats an error as true.
func (e *PodEvaluator) WouldHelpPod(known Namespaces, old, new *v1.Pod) (bool, error) {
	if e.err != nil {
		return true, e.err
	}
	pod := new
	if pod == nil {
		pod = old
	}
	if pod == nil {
		return false, nil
	}
	if old != nil && new != nil && new.UID == e.pod.UID {
		return true, nil
	}
	if !podinfo.Placed(pod) {
		return false, nil
	}
	switch {
	case old == nil:
		return e.all(e.affinity, new, known), nil
	case new == nil:
		if e.all(e.anti, old, known) {
			return true, nil
		}
		terms := CompileTerms(old)
		return terms != nil && unresolved(terms.anti, e.pod), nil
	}
	if !e.all(e.affinity, old, known) && e.all(e.affinity, new, known) {
		return true, nil
	}
	return e.all(e.anti, old, known) && !e.all(e.anti, new, known), nil
}

// all reports whether a pod matches all of the rejected pod's terms; none are never matched.
func (e *PodEvaluator) all(terms []term, pod *v1.Pod, known Namespaces) bool {
	if e.documented {
		return allMatch(bindAll(terms, known.Namespaces(), true), pod)
	}
	return unresolved(terms, pod)
}

// unresolved is all as v1.36.3's hint has it: a namespaceSelector sees a namespace without labels.
func unresolved(terms []term, pod *v1.Pod) bool {
	for i := range terms {
		if !terms[i].matchesIn(pod, func() map[string]string { return nil }) {
			return false
		}
	}
	return len(terms) > 0
}
