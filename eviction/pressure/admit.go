package pressure

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead/kubelet"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/taints"
)

// Admit reports whether a node with these pressure conditions admits a new pod (rule E9.1). message is the text of a
// refusal; its reason is [Reason].
//
//   - A critical pod is always admitted: static, mirror, or a priority of 2000000000 or more.
//   - When only memory is short, pods that are not BestEffort are admitted, and so are pods that tolerate
//     node.kubernetes.io/memory-pressure:NoSchedule.
//   - When disk or process IDs are short, every other pod is refused, whatever it tolerates.
//
// A nil pod is admitted.
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
		if kubelet.QoS(pod, release.Current) != v1.PodQOSBestEffort {
			return true, ""
		}
		// No number is compared: the taint has no value, and so no feature gate matters.
		taint := v1.Taint{Key: v1.TaintNodeMemoryPressure, Effect: v1.TaintEffectNoSchedule}
		if taints.Compile(pod.Spec.Tolerations, taints.Options{}).ToleratesTaint(&taint) {
			return true, ""
		}
	}
	return false, "The node had condition: [" + strings.Join(names, " ") + "]. "
}
