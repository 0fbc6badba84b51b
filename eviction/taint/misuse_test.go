package taint

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Nil and zero arguments, and nil in lists, are answered.
func TestNil(t *testing.T) {
	timers, node, pod := NewTimers(Options{}), ready("n1", "a", "True"), podOn("n1", "p", tolerationsOf("x:3"))
	testkit.Misuse(t, map[string]any{
		"NewTimers": NewTimers, "SetNode": timers.SetNode, "SetPod": timers.SetPod, "DeleteNode": timers.DeleteNode, "DeletePod": timers.DeletePod, "Next": timers.Next, "Advance": timers.Advance,
		"Forecast": Forecast, "ValidateEvents": ValidateEvents, "Config.Validate": Config{}.Validate, "Event": Action{}.Event, "Condition": Action{}.Condition, "String": Timeline{}.String,
	}, nil, node, pod, []*v1.Node{nil, node}, []Event{{}, {Node: "n1", Taint: "-"}}, Input{Nodes: []*v1.Node{nil}}, Input{Nodes: []*v1.Node{node}, Pods: []*v1.Pod{nil, pod}, Until: time.Minute})
}
