package admission

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// MergeLabelKeys returns the pod as the API server stores it at creation: to the labelSelector of each inter-pod term it
// appends `key In (value)` for each of matchLabelKeys and then `key NotIn (value)` for each of mismatchLabelKeys, in the
// order of the lists, the values being those of the pod's labels. Keys that the pod does not have are passed over; a term
// without a labelSelector is left alone; the lists of keys stay. (API reference, PodAffinityTerm.)
//
// The scheduler does not read the lists: a pod that did not come from the API server has to pass through here. The result
// is a copy; it must not pass through twice, and later changes of the pod's labels do not change the selectors.
func MergeLabelKeys(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	affinity, anti := podinfo.PodAffinity(pod)
	if affinity != nil {
		mergeTerms(affinity.RequiredDuringSchedulingIgnoredDuringExecution, affinity.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
	}
	if anti != nil {
		mergeTerms(anti.RequiredDuringSchedulingIgnoredDuringExecution, anti.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
	}
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
