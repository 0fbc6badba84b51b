package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/podinfo"
)

// PodKey returns the key of everything that the profile's plugins and preemption read of a pod. Pods with equal keys get
// equal decisions on every cluster. [queue.Options.PodKey] takes this method. PodKey returns "" for a pod that is equal to
// no other pod:
//
//   - a pod with objects of its own: generic ephemeral volumes, resource claims, a scheduling group;
//   - every pod, when a plugin of the profile has no AppendKey;
//   - a nil pod.
//
// The key does not have spec.schedulerName and the scheduling gates: the queue looks at both. O(spec of the pod).
func (p Profile) PodKey(pod *v1.Pod) string {
	if pod == nil || len(pod.Spec.ResourceClaims) > 0 || pod.Spec.SchedulingGroup != nil {
		return ""
	}
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Ephemeral != nil {
			return ""
		}
	}
	dst := key.Optional(key.Int(make([]byte, 0, 512), int64(podinfo.Priority(pod))), pod.Spec.PreemptionPolicy, key.Text)
	type name struct{ key, plugin string } // of a key that is written; plugin is "" for a key with a KeyName
	names := make([]name, 0, 32)
	add := func(x *Plugin) bool {
		if x.AppendKey == nil {
			return false
		}
		own := name{key: x.KeyName}
		if x.KeyName == "" {
			own.plugin = x.Name // once, if the plugin filters and scores
		}
		if !slices.Contains(names, own) {
			at := len(dst)
			dst, names = key.Close(x.AppendKey(key.Open(dst), pod), at), append(names, own)
		}
		return true
	}
	for _, f := range p.Filters {
		if !add(f) {
			return ""
		}
	}
	for _, w := range p.Scores {
		if !add(w.Plugin) {
			return ""
		}
	}
	return string(dst)
}
