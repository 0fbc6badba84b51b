package pressure

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead/kubelet"
	"github.com/podberth/podberth/taints"
)

// Admit reports whether a node with these pressure conditions admits a new pod, and returns the message of a refusal. The
// reason of a refusal is Reason. Critical pods (static, mirror, priority of 2000000000 or more) are always taken. When
// memory is all that is short, so are pods that are not BestEffort and those that tolerate
// node.kubernetes.io/memory-pressure:NoSchedule; short disk or process space keeps all others out, whatever they tolerate. A nil pod is
// admitted.
func Admit(pod *v1.Pod, pressure []v1.NodeConditionType) (admitted bool, message string) {
	if pod == nil {
		return true, ""
	}
	var names []string
	for _, c := range conditions {
		if slices.Contains(pressure, c) {
			names = append(names, string(c))
		}
	}
	if len(names) == 0 || exempt(pod) != "" {
		return true, ""
	}
	if len(names) == 1 && names[0] == string(v1.NodeMemoryPressure) {
		if kubelet.QoS(pod) != v1.PodQOSBestEffort {
			return true, ""
		}
		taint := v1.Taint{Key: v1.TaintNodeMemoryPressure, Effect: v1.TaintEffectNoSchedule}
		if taints.Compile(pod.Spec.Tolerations, taints.Options{}).ToleratesTaint(&taint) {
			return true, ""
		}
	}
	return false, "The node had condition: [" + strings.Join(names, " ") + "]. "
}
