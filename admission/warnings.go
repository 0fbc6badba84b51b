package admission

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/apiserver"
	"github.com/podberth/podberth/internal/podinfo"
)

// Warnings returns the texts of what the API server warns of when it accepts the pod: inter-pod terms and topology
// spread constraints with a nil labelSelector, which match no pod, and deprecated label keys in nodeSelector, node affinity and topologyKey. The result is
// nil without warnings. The pod must not be nil.
func Warnings(pod *v1.Pod) []string {
	var out []string
	deprecated := func(path *field.Path, key string) {
		if d, ok := deprecatedKey(key); ok {
			text := path.String() + ": deprecated"
			if d.Since != "" {
				text += " since " + d.Since
			}
			out = append(out, text+"; use \""+d.Use+"\" instead")
		}
	}
	spec := field.NewPath("spec")
	for _, key := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		deprecated(spec.Child("nodeSelector").Key(key), key)
	}
	if a := podinfo.NodeAffinity(pod); a != nil {
		path := spec.Child("affinity", "nodeAffinity")
		term := func(t *v1.NodeSelectorTerm, path *field.Path) {
			for i := range t.MatchExpressions {
				deprecated(path.Child("matchExpressions").Index(i).Child("key"), t.MatchExpressions[i].Key)
			}
		}
		if r := a.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			for i := range r.NodeSelectorTerms {
				term(&r.NodeSelectorTerms[i], path.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").Index(i))
			}
		}
		for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
			term(&a.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference,
				path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("preference"))
		}
	}
	list := func(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm, path *field.Path) {
		term := func(t *v1.PodAffinityTerm, path *field.Path) {
			if t.LabelSelector == nil {
				out = append(out, path.Child("labelSelector").String()+": a null labelSelector results in matching no pod")
			}
			deprecated(path.Child("topologyKey"), t.TopologyKey)
		}
		for i := range required {
			term(&required[i], path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i))
		}
		for i := range preferred {
			term(&preferred[i].PodAffinityTerm, path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("podAffinityTerm"))
		}
	}
	affinity, anti := podinfo.PodAffinity(pod)
	if affinity != nil {
		list(affinity.RequiredDuringSchedulingIgnoredDuringExecution, affinity.PreferredDuringSchedulingIgnoredDuringExecution, spec.Child("affinity", "podAffinity"))
	}
	if anti != nil {
		list(anti.RequiredDuringSchedulingIgnoredDuringExecution, anti.PreferredDuringSchedulingIgnoredDuringExecution, spec.Child("affinity", "podAntiAffinity"))
	}
	return append(out, apiserver.SpreadWarnings(pod.Spec.TopologySpreadConstraints, spec.Child("topologySpreadConstraints"))...)
}
