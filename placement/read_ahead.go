package placement

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readAhead reads a word of each map and text that the keys of a pod are made of, and of the lines of memory where its other fields are. The pods of a backlog
// are in no cache: a processor fetches at the same time what is read here, and one after the other what is read while a key is written. A decision
// takes a sixth less (BenchmarkCold). The result says nothing; it is there because what nobody uses is not read.
func readAhead(pod *v1.Pod) int {
	s := &pod.Spec
	n := letter(pod.Namespace) + letter(pod.Name) + len(pod.Labels[""]) + len(s.NodeName) + len(s.Tolerations) + len(s.Volumes) + len(s.ResourceClaims) +
		len(pod.Status.Phase) + len(pod.Status.NominatedNodeName)
	for i := range s.Containers {
		c := &s.Containers[i]
		_, some := c.Resources.Requests[""]
		n += letter(c.Image) + len(c.Ports)
		if some || c.RestartPolicy != nil {
			n++
		}
	}
	for i := range s.TopologySpreadConstraints {
		c := &s.TopologySpreadConstraints[i]
		n += letter(c.TopologyKey) + readSelector(c.LabelSelector)
	}
	if a := s.Affinity; a != nil {
		if a.PodAffinity != nil {
			n += readTerms(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
		if a.PodAntiAffinity != nil {
			n += readTerms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
	}
	return n
}

func readTerms(terms []v1.PodAffinityTerm) (n int) {
	for i := range terms {
		n += readSelector(terms[i].LabelSelector)
	}
	return n
}

func readSelector(s *metav1.LabelSelector) int {
	if s == nil {
		return 0
	}
	return len(s.MatchLabels[""])
}

// letter reads the first letter of a text.
func letter(s string) int {
	if s == "" {
		return 0
	}
	return int(s[0])
}
