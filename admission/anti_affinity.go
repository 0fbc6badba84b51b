package admission

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// LimitHardAntiAffinity is the rule of the LimitPodHardAntiAffinityTopology admission plugin, which is off by default: a
// pod's required anti-affinity may name the key kubernetes.io/hostname only. The rule applies to creations and updates of
// pods. Preferred terms and pod affinity are free. The error names the first key that is not allowed; nil admits the pod.
func LimitHardAntiAffinity(pod *v1.Pod) error {
	_, anti := podinfo.PodAffinity(pod)
	if anti == nil {
		return nil
	}
	for i := range anti.RequiredDuringSchedulingIgnoredDuringExecution {
		if key := anti.RequiredDuringSchedulingIgnoredDuringExecution[i].TopologyKey; key != v1.LabelHostname {
			return fmt.Errorf("pods %q is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey %v but only key %v is allowed",
				pod.Name, key, v1.LabelHostname)
		}
	}
	return nil
}
