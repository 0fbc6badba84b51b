package same

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// AddToleration returns list with t. It replaces every toleration of equal key, operator, value and effect, so that their
// tolerationSeconds are lost; without such a toleration it adds t at the end. The result is a new list. O(tolerations).
func AddToleration(list []v1.Toleration, t v1.Toleration) []v1.Toleration {
	result := slices.Clone(list)
	found := false
	for i := range result {
		if SameToleration(&result[i], &t) {
			result[i], found = t, true
		}
	}
	if found {
		return result
	}
	return append(result, t)
}

// SameToleration reports whether two tolerations are equal but for tolerationSeconds.
func SameToleration(a, b *v1.Toleration) bool {
	return a.Key == b.Key && a.Operator == b.Operator && a.Value == b.Value && a.Effect == b.Effect
}

// DaemonSetTolerations returns the tolerations that a pod of a DaemonSet has in the end: its own, and those that the DaemonSet controller
// adds, which the comment of admission.WithDaemonSet lists. The pod must not be nil.
func DaemonSetTolerations(pod *v1.Pod) []v1.Toleration {
	list := pod.Spec.Tolerations
	add := func(effect v1.TaintEffect, keys ...string) {
		for _, key := range keys {
			list = AddToleration(list, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: effect})
		}
	}
	add(v1.TaintEffectNoExecute, v1.TaintNodeNotReady, v1.TaintNodeUnreachable)
	add(v1.TaintEffectNoSchedule,
		v1.TaintNodeDiskPressure, v1.TaintNodeMemoryPressure, v1.TaintNodePIDPressure, v1.TaintNodeUnschedulable)
	if pod.Spec.HostNetwork {
		add(v1.TaintEffectNoSchedule, v1.TaintNodeNetworkUnavailable)
	}
	return list
}

// CoversToleration reports whether a covers b: every taint that b tolerates is tolerated by a. The comment of taints.MergeTolerations has
// the rule. Two tolerations with operator Exists whose values differ cover each other.
func CoversToleration(a, b *v1.Toleration) bool {
	if Toleration(*a, *b) {
		return true
	}
	everyKey := a.Key == "" && a.Operator == v1.TolerationOpExists
	if a.Key != b.Key && !everyKey || a.Effect != "" && a.Effect != b.Effect {
		return false
	}
	shorter := a.TolerationSeconds != nil && (b.TolerationSeconds == nil || *a.TolerationSeconds < *b.TolerationSeconds)
	if a.Effect == v1.TaintEffectNoExecute && shorter {
		return false
	}
	switch a.Operator {
	case v1.TolerationOpExists:
		return true
	case "", v1.TolerationOpEqual:
		return b.Operator == v1.TolerationOpEqual && a.Value == b.Value
	}
	return false
}
