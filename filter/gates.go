package filter

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Gated reports whether scheduling gates keep the pod out of the queue, and returns the message of the plugin
// SchedulingGates: "waiting for scheduling gates: [a b]", with the names in the order of the spec. The plugin's code is
// [UnschedulableAndUnresolvable]. A nil pod has no gates. Rule F15.1: documentation, "Pod Scheduling Readiness".
func Gated(pod *v1.Pod) (message string, gated bool) {
	if pod == nil || len(pod.Spec.SchedulingGates) == 0 {
		return "", false
	}
	names := make([]string, len(pod.Spec.SchedulingGates))
	for i, g := range pod.Spec.SchedulingGates {
		names[i] = g.Name
	}
	return "waiting for scheduling gates: [" + strings.Join(names, " ") + "]", true
}
