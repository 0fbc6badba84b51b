package taints

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// DefaultSeconds configures WithDefaultSeconds. The zero value is the default of the API server's flags.
type DefaultSeconds struct {
	NotReady    *int64 // --default-not-ready-toleration-seconds; nil: 300
	Unreachable *int64 // --default-unreachable-toleration-seconds; nil: 300
}

// WithDefaultSeconds returns a copy of the pod as the admission plugin DefaultTolerationSeconds, on by default, leaves it
// at creation and update: with tolerations for the NoExecute taints node.kubernetes.io/not-ready and then
// node.kubernetes.io/unreachable for 300 seconds at the end, each unless the pod has a toleration with that key or none
// and with effect NoExecute or none. Operator and value of that toleration are not looked at, so that one that does not
// tolerate the taint suppresses the default as well.
func WithDefaultSeconds(pod *v1.Pod, d DefaultSeconds) *v1.Pod {
	pod = pod.DeepCopy()
	add := func(key string, seconds *int64) {
		for _, t := range pod.Spec.Tolerations {
			if (t.Key == key || t.Key == "") && (t.Effect == v1.TaintEffectNoExecute || t.Effect == "") {
				return
			}
		}
		s := int64(300)
		if seconds != nil {
			s = *seconds
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{
			Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &s,
		})
	}
	add(v1.TaintNodeNotReady, d.NotReady)
	add(v1.TaintNodeUnreachable, d.Unreachable)
	return pod
}

// AddToleration returns list with t in the place of every toleration of equal key, operator, value and effect, whose
// tolerationSeconds are lost, or at the end when there is none. The result is a new list.
func AddToleration(list []v1.Toleration, t v1.Toleration) []v1.Toleration {
	result := slices.Clone(list)
	found := false
	for i := range result {
		if sameToleration(&result[i], &t) {
			result[i], found = t, true
		}
	}
	if found {
		return result
	}
	return append(result, t)
}

func sameToleration(a, b *v1.Toleration) bool {
	return a.Key == b.Key && a.Operator == b.Operator && a.Value == b.Value && a.Effect == b.Effect
}

// equalToleration reports whether all fields are equal, tolerationSeconds included.
func equalToleration(a, b *v1.Toleration) bool {
	x, y := a.TolerationSeconds, b.TolerationSeconds
	return sameToleration(a, b) && (x == y || x != nil && y != nil && *x == *y)
}

// WithDaemonSet returns a copy of a DaemonSet's pod with the tolerations that the DaemonSet controller adds, each by
// AddToleration, with operator Exists and without limit: not-ready and unreachable for NoExecute; disk-pressure,
// memory-pressure, pid-pressure and unschedulable for NoSchedule; network-unavailable for NoSchedule if the pod uses the
// host's network. The pod still does not tolerate the NoSchedule taints not-ready and unreachable.
func WithDaemonSet(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	add := func(effect v1.TaintEffect, keys ...string) {
		for _, key := range keys {
			t := v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: effect}
			pod.Spec.Tolerations = AddToleration(pod.Spec.Tolerations, t)
		}
	}
	add(v1.TaintEffectNoExecute, v1.TaintNodeNotReady, v1.TaintNodeUnreachable)
	add(v1.TaintEffectNoSchedule,
		v1.TaintNodeDiskPressure, v1.TaintNodeMemoryPressure, v1.TaintNodePIDPressure, v1.TaintNodeUnschedulable)
	if pod.Spec.HostNetwork {
		add(v1.TaintEffectNoSchedule, v1.TaintNodeNetworkUnavailable)
	}
	return pod
}

// WithMemoryPressure returns a copy of a pod of this quality-of-service class as the admission plugin
// PodTolerationRestriction leaves it: unless the class is BestEffort, with a toleration for
// node.kubernetes.io/memory-pressure:NoSchedule, merged by MergeTolerations. The plugin is off by default: on a default
// cluster no pod gets this toleration, although the documentation says that the control plane adds it.
func WithMemoryPressure(pod *v1.Pod, qos v1.PodQOSClass) *v1.Pod {
	pod = pod.DeepCopy()
	if qos != v1.PodQOSBestEffort {
		pod.Spec.Tolerations = MergeTolerations(pod.Spec.Tolerations, []v1.Toleration{{
			Key: v1.TaintNodeMemoryPressure, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule,
		}})
	}
	return pod
}

// MergeTolerations returns the tolerations of a and then of b without those that another one covers; of equal ones the
// first stays. One covers another when
//
//  1. they are equal in all fields, or
//  2. its key is the same, or empty with Exists;
//  3. its effect is the same or empty, and if it is NoExecute it holds for at least as long;
//  4. its operator is Exists, or Equal or empty while the other's is Equal with the same value.
//
// The result is a new list.
func MergeTolerations(a, b []v1.Toleration) []v1.Toleration {
	all := slices.Concat(a, b)
	var merged []v1.Toleration
	for i := range all {
		covered := func(by v1.Toleration) bool { return covers(&by, &all[i]) }
		coveredLater := func(by v1.Toleration) bool {
			return covered(by) && !equalToleration(&by, &all[i])
		}
		if slices.ContainsFunc(merged, covered) || slices.ContainsFunc(all[i+1:], coveredLater) {
			continue
		}
		merged = append(merged, *all[i].DeepCopy())
	}
	return merged
}

// covers reports whether a covers b, see MergeTolerations.
func covers(a, b *v1.Toleration) bool {
	if equalToleration(a, b) {
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

// WithExtendedResources returns a copy of the pod as the admission plugin ExtendedResourceToleration, off by default,
// leaves it: for each extended resource that a container or init container requests, in order of the names, with the
// toleration {name, Exists, NoSchedule}, by AddToleration. Quantities are not looked at; limits, pod-level resources and
// ephemeral containers do not count. A node whose taint has the resource's name as key then takes only pods that ask for
// the resource.
func WithExtendedResources(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	names := map[string]bool{}
	for _, containers := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if extended(string(name)) {
					names[string(name)] = true
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		t := v1.Toleration{Key: name, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}
		pod.Spec.Tolerations = AddToleration(pod.Spec.Tolerations, t)
	}
	return pod
}

// extended reports whether a resource name is that of an extended resource (documentation, "Managing Resources for
// Containers", Extended resources): it has a domain that is not Kubernetes' own and can be a quota's name.
func extended(name string) bool {
	return strings.Contains(name, "/") &&
		!strings.Contains(name, v1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(name, v1.DefaultResourceRequestsPrefix) &&
		len(validation.IsQualifiedName(v1.DefaultResourceRequestsPrefix+name)) == 0
}
