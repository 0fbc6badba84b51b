package overhead

import (
	v1 "k8s.io/api/core/v1"
)

// MergeTolerations returns the tolerations of the pod followed by those of its RuntimeClass, without those that another one
// makes superfluous: one is left out when an earlier one that stays covers it, or a later one that is not the same does.
// "Covers" is narrower than in matching: Equal and an empty operator are different words here. Rule: documentation, "Runtime
// Class" (Scheduling: the union of both).
func MergeTolerations(pod, class []v1.Toleration) []v1.Toleration {
	all := make([]v1.Toleration, 0, len(pod)+len(class))
	all = append(append(all, pod...), class...)
	var kept []v1.Toleration
next:
	for i, t := range all {
		for _, k := range kept {
			if covers(k, t) {
				continue next
			}
		}
		for _, later := range all[i+1:] {
			if !sameToleration(later, t) && covers(later, t) {
				continue next
			}
		}
		kept = append(kept, *t.DeepCopy())
	}
	return kept
}

// covers reports whether everything that t tolerates ss tolerates for as long, as far as their words tell.
func covers(ss, t v1.Toleration) bool {
	if sameToleration(ss, t) {
		return true
	}
	if ss.Key != t.Key && (ss.Key != "" || ss.Operator != v1.TolerationOpExists) {
		return false
	}
	if ss.Effect != t.Effect && ss.Effect != "" {
		return false
	}
	if ss.Effect == v1.TaintEffectNoExecute && ss.TolerationSeconds != nil &&
		(t.TolerationSeconds == nil || *t.TolerationSeconds > *ss.TolerationSeconds) {
		return false
	}
	switch ss.Operator {
	case v1.TolerationOpExists:
		return true
	case v1.TolerationOpEqual, "":
		return t.Operator == v1.TolerationOpEqual && ss.Value == t.Value
	}
	return false
}

func sameToleration(a, b v1.Toleration) bool {
	if (a.TolerationSeconds == nil) != (b.TolerationSeconds == nil) ||
		a.TolerationSeconds != nil && *a.TolerationSeconds != *b.TolerationSeconds {
		return false
	}
	a.TolerationSeconds, b.TolerationSeconds = nil, nil
	return a == b
}
