package queue_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/queue"
)

// TestSchedulingGates compares the gate of spec.schedulingGates with the plugin's PreEnqueue: verdict and text.
func TestSchedulingGates(t *testing.T) {
	s := defaultScheduler(t)
	for _, names := range [][]string{nil, {}, {"a"}, {"b", "a"}, {"a", "a"}, {"example.com/x", "y", "example.com/z"}, {""}, {"", "a"}} {
		pod := &v1.Pod{}
		for _, n := range names {
			pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, v1.PodSchedulingGate{Name: n})
		}
		theirs, err := s.PreEnqueue("SchedulingGates", pod)
		if err != nil {
			t.Fatal(err)
		}
		ours := queue.SchedulingGates().Check(pod)
		if ours.Refuse == theirs.IsSuccess() || ours.Message != theirs.Message() || ours.Err != nil {
			t.Errorf("%q: real %v %q, podberth %+v", names, theirs.Code(), theirs.Message(), ours)
		}
	}
}
