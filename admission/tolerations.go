package admission

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podberth/podberth/internal/same"
	"github.com/podberth/podberth/taints"
)

// DefaultSeconds configures [WithDefaultSeconds]. The zero value is the default of the API server's flags.
type DefaultSeconds struct {
	NotReady    *int64 // --default-not-ready-toleration-seconds; nil: 300
	Unreachable *int64 // --default-unreachable-toleration-seconds; nil: 300
}

// WithDefaultSeconds returns a copy of the pod after the admission plugin DefaultTolerationSeconds, which is on by default
// and runs at creation and update. The plugin adds tolerations for the NoExecute taints node.kubernetes.io/not-ready and
// node.kubernetes.io/unreachable, in this order, for 300 seconds each. It adds none for a taint when the pod has a
// toleration with the key of the taint or no key, and with effect NoExecute or no effect. It does not look at operator and
// value: a toleration that does not tolerate the taint also suppresses the default.
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

// WithDaemonSet returns a copy of a DaemonSet's pod with the tolerations that the DaemonSet controller adds, with operator
// Exists and without limit:
//
//   - NoExecute: not-ready, unreachable.
//   - NoSchedule: disk-pressure, memory-pressure, pid-pressure, unschedulable.
//   - NoSchedule: network-unavailable, when the pod uses the network of the host.
//
// They replace tolerations that are equal but for tolerationSeconds. The pod still does not tolerate the NoSchedule taints
// not-ready and unreachable.
func WithDaemonSet(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.Tolerations = same.DaemonSetTolerations(pod)
	return pod
}

// WithMemoryPressure returns a copy of a pod of this quality-of-service class after the admission plugin
// PodTolerationRestriction. Unless the class is BestEffort, the plugin adds a toleration for
// node.kubernetes.io/memory-pressure:NoSchedule by [taints.MergeTolerations]. The plugin is off by default. On a default
// cluster no pod gets this toleration, although the documentation says that the control plane adds it.
func WithMemoryPressure(pod *v1.Pod, qos v1.PodQOSClass) *v1.Pod {
	pod = pod.DeepCopy()
	if qos != v1.PodQOSBestEffort {
		pod.Spec.Tolerations = taints.MergeTolerations(pod.Spec.Tolerations, []v1.Toleration{{
			Key: v1.TaintNodeMemoryPressure, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule,
		}})
	}
	return pod
}

// WithExtendedResources returns a copy of the pod after the admission plugin ExtendedResourceToleration, which is off by
// default. For each extended resource that a container or init container requests, in order of the names, the plugin adds
// the toleration {name, Exists, NoSchedule}. A quantity of 0 counts. Limits, pod-level resources and ephemeral containers
// do not count. A node with a taint of that key then accepts only pods that ask for the resource.
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
		pod.Spec.Tolerations = same.AddToleration(pod.Spec.Tolerations, t)
	}
	return pod
}

// extended reports whether the name is the name of an extended resource (documentation, "Managing Resources for
// Containers", Extended resources): it has a domain, the domain is not one of Kubernetes, and a quota can have the name.
func extended(name string) bool {
	return strings.Contains(name, "/") &&
		!strings.Contains(name, v1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(name, v1.DefaultResourceRequestsPrefix) &&
		len(validation.IsQualifiedName(v1.DefaultResourceRequestsPrefix+name)) == 0
}

// WithNotReady returns a copy of a new node after the admission plugin TaintNodesByCondition, which is on by default. The
// plugin adds the taint node.kubernetes.io/not-ready:NoSchedule, unless the node has a taint of that key and effect.
func WithNotReady(node *v1.Node) *v1.Node {
	node = node.DeepCopy()
	t := v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule}
	if !hasTaint(node.Spec.Taints, &t) {
		node.Spec.Taints = append(node.Spec.Taints, t)
	}
	return node
}

func sameToleration(a, b *v1.Toleration) bool { return same.SameToleration(a, b) }
