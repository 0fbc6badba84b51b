package admission

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/apiserver"
	"github.com/podberth/podberth/internal/podinfo"
)

// MergeLabelKeys returns a copy of the pod as the API server stores the pod at creation (API reference, PodAffinityTerm and
// TopologySpreadConstraint; A7.4 and S1.5). The API server appends requirements to the labelSelector of each inter-pod term and of each
// topology spread constraint, with the values of the pod's own labels and in the order of the lists:
//
//  1. key In (value) for each key of matchLabelKeys,
//  2. key NotIn (value) for each key of mismatchLabelKeys, which constraints do not have.
//
// Keys that the pod does not have add nothing. A term or constraint without a labelSelector stays as it is, and the lists of keys stay.
//
// The scheduler does not read the lists of terms, so call MergeLabelKeys for a pod that does not come from the API server, and only
// once: a second call appends the requirements again. The scheduler merges those of constraints once more, which changes nothing
// unless the pod's labels have changed since: then the selector asks for both values, and no pod matches. Later changes of the pod's
// labels do not change the selectors. The pod must not be nil.
func MergeLabelKeys(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	affinity, anti := podinfo.PodAffinity(pod)
	if affinity != nil {
		mergeTerms(affinity.RequiredDuringSchedulingIgnoredDuringExecution, affinity.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
	}
	if anti != nil {
		mergeTerms(anti.RequiredDuringSchedulingIgnoredDuringExecution, anti.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
	}
	apiserver.MergeSpreadKeys(pod)
	return pod
}

func mergeTerms(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm, labels map[string]string) {
	for i := range required {
		mergeTerm(&required[i], labels)
	}
	for i := range preferred {
		mergeTerm(&preferred[i].PodAffinityTerm, labels)
	}
}

func mergeTerm(t *v1.PodAffinityTerm, labels map[string]string) {
	if t.LabelSelector == nil {
		return
	}
	add := func(keys []string, op metav1.LabelSelectorOperator) {
		for _, key := range keys {
			if value, ok := labels[key]; ok {
				t.LabelSelector.MatchExpressions = append(t.LabelSelector.MatchExpressions,
					metav1.LabelSelectorRequirement{Key: key, Operator: op, Values: []string{value}})
			}
		}
	}
	add(t.MatchLabelKeys, metav1.LabelSelectorOpIn)
	add(t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
}
