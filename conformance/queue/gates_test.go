package queue_test

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/queue"
)

// TestSchedulingGates holds the gate of spec.schedulingGates against the plugin's PreEnqueue: verdict and text.
func TestSchedulingGates(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	profile, err := real.DefaultProfile()
	if err != nil {
		t.Fatal(err)
	}
	s, err := real.New(ctx, profile)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Plugin("SchedulingGates")
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{nil, {}, {"a"}, {"b", "a"}, {"a", "a"}, {"example.com/x", "y", "example.com/z"}, {""}, {"", "a"}} {
		pod := &v1.Pod{}
		for _, n := range names {
			pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, v1.PodSchedulingGate{Name: n})
		}
		theirs := p.(fwk.PreEnqueuePlugin).PreEnqueue(ctx, pod)
		ours := queue.SchedulingGates().Check(pod)
		if ours.Refuse == theirs.IsSuccess() || ours.Message != theirs.Message() || ours.Err != nil {
			t.Errorf("%q: real %v %q, podberth %+v", names, theirs.Code(), theirs.Message(), ours)
		}
	}
}
