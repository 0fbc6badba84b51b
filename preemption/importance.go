package preemption

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"
)

// CompareImportance orders pods by who should rather stay: negative when a is more important than b.
//
//  1. The higher priority.
//  2. The earlier status.startTime; a pod without one started at now.
//
// Nothing else counts, neither name, age of the object, quality of service nor usage; 0 means that they are equal, and their
// order on the node decides. Rule: API fields spec.priority and status.startTime.
func CompareImportance(a, b *v1.Pod, now time.Time) int {
	if c := cmp.Compare(Priority(b), Priority(a)); c != 0 {
		return c
	}
	return start(a, now).Compare(start(b, now))
}

func start(pod *v1.Pod, now time.Time) time.Time {
	if pod.Status.StartTime == nil {
		return now
	}
	return pod.Status.StartTime.Time
}
