package podinfo

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"
)

// CompareImportance orders pods by importance: the result is negative if a is more important than b.
//
//  1. Higher priority first.
//  2. Earlier status.startTime first. A pod without a start time started at now.
//
// Name, creation time, quality of service and usage do not count. 0 means that the pods are equally important; then their
// order on the node decides. Rules P7.1 and P7.2: API fields spec.priority and status.startTime.
func CompareImportance(a, b *v1.Pod, now time.Time) int {
	if c := cmp.Compare(Priority(b), Priority(a)); c != 0 {
		return c
	}
	return Start(a, now).Compare(Start(b, now))
}

// Start returns when a pod started. A pod without a start time started at now.
func Start(pod *v1.Pod, now time.Time) time.Time {
	if pod.Status.StartTime == nil {
		return now
	}
	return pod.Status.StartTime.Time
}
