package proof

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/release/plugins"
)

// lasting are the plugins whose rejection of a node stays when other pods come.
var lasting = []string{
	plugins.NodeUnschedulable, plugins.NodeName, plugins.TaintToleration, plugins.NodeAffinity, plugins.NodePorts, plugins.NodeResourcesFit,
	plugins.VolumeRestrictions, plugins.NodeVolumeLimits, plugins.VolumeBinding, plugins.VolumeZone, plugins.DynamicResources,
	plugins.NodeDeclaredFeatures,
}

// Lasting reports whether a rejection of the pod by the plugin stays whatever other pods are placed. A required pod affinity and a spread
// constraint can be met later, when another pod is there, and nothing is known of the plugins of callers.
func Lasting(plugin string, pod *v1.Pod) bool {
	if plugin == plugins.InterPodAffinity {
		a := pod.Spec.Affinity
		return a == nil || a.PodAffinity == nil || len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) == 0
	}
	return slices.Contains(lasting, plugin)
}

// AllLasting reports whether every rejection of the pod lasts. If it does so for all members, their order does not matter. a is the attempt
// of the pod.
func AllLasting(a *placement.Attempt, pod *v1.Pod) bool {
	for _, p := range a.Predicates {
		if !Lasting(p.Name(), pod) {
			return false
		}
	}
	return !slices.ContainsFunc(a.Pre.Rejecters(), func(plugin string) bool { return !Lasting(plugin, pod) })
}
