package spread

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/same"
)

// Hint is that of [engine.HintOf].
func (h *hardEvaluator) Hint(o Options) engine.Hint { return hint(o) }

// hint returns the queueing hint of PodTopologySpread: whether an event could make a pod schedulable that this plugin
// rejected (rules S9.1 to S9.7). old and new are both *v1.Pod or both *v1.Node, before and after the event; old is nil for
// an addition and new for a deletion. The error says that a label selector cannot be converted, as in [CompileHard], or that the
// objects are of another kind. The queue treats an error as true. The pod must not be nil.
func hint(o Options) engine.Hint {
	return func(pod *v1.Pod, old, new any) (bool, error) {
		if before, after, ok := engine.EventOf[v1.Pod](old, new); ok {
			return podEvent(pod, before, after, &o)
		}
		if before, after, ok := engine.EventOf[v1.Node](old, new); ok {
			h, err := compileHard(pod, &o)
			return err == nil && h.nodeEvent(before, after), err
		}
		return false, fmt.Errorf("topology spread hint: want two pods or two nodes, one of them may be nil: have %T and %T", old, new)
	}
}

// podEvent is the hint for a pod. The first rule that holds decides:
//
//  1. The event is neither about the pod itself nor about a pod of its namespace that is assigned or nominated: false, although
//     a selector of the pod cannot be converted.
//  2. The pod itself got a toleration, and a constraint honours taints: true.
//  3. An update: whether a selector matches either the old or the new labels, and not both.
//  4. An addition or deletion: whether a selector matches. The empty selector matches.
func podEvent(pod, old, new *v1.Pod, o *Options) (bool, error) {
	about := cmp.Or(new, old)
	itself := about.UID == pod.UID
	if !itself && (!countsAsPlaced(o.Release, about) || about.Namespace != pod.Namespace) {
		return false, nil
	}
	h, err := compileHard(pod, o)
	switch {
	case err != nil:
		return false, err
	case old == nil || new == nil:
		return h.selectors.matches(about.Labels) != 0, nil
	case itself && len(old.Spec.Tolerations) != len(new.Spec.Tolerations) && h.honoursTaints():
		return true, nil
	}
	return h.selectors.matches(old.Labels) != h.selectors.matches(new.Labels), nil
}

func (h *hardEvaluator) honoursTaints() bool {
	return slices.ContainsFunc(h.constraints, func(c constraint) bool { return c.honours&excludedByTaints != 0 })
}

// nodeEvent is the hint for a node. An update helps when only one of old and new node has all topology keys, or when both
// have them and a topology value or a taint changed. An addition or deletion helps when the node has all keys.
func (h *hardEvaluator) nodeEvent(old, new *v1.Node) bool {
	if old == nil {
		return h.hasKeys(new.Labels)
	}
	if new == nil {
		return h.hasKeys(old.Labels)
	}
	had, has := h.hasKeys(old.Labels), h.hasKeys(new.Labels)
	if had != has {
		return true
	}
	if !has {
		return false
	}
	for k := range h.constraints {
		if key := h.constraints[k].key; old.Labels[key] != new.Labels[key] {
			return true
		}
	}
	return !slices.EqualFunc(old.Spec.Taints, new.Spec.Taints, same.Taint)
}
