package preemption

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// Priority returns the pod's effective priority: spec.priority, and 0 for a pod without priority and for a nil pod. Class,
// quality of service and owner do not count. Rule P1.1: API field spec.priority.
func Priority(pod *v1.Pod) int32 { return podinfo.Priority(pod) }
