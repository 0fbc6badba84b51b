package affinity_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/testkit"
)

// Nil, zero and extreme arguments give an error or the zero answer, except for objects that must not be nil and slots that
// do not exist.
func TestMisuse(t *testing.T) {
	w := newWorld(node("n1", "zone=a"))
	state := func() *affinity.Full { return count(w, pod("d", "app=x", "anti zone app=x"), affinity.PodOptions{}) }
	const object, noSlot = "objects must not be nil", "a slot is a number from 0 to Len()-1"
	testkit.Misuse(t, map[string]any{
		"MatchNode":            affinity.MatchNode,
		"CompileRequired":      affinity.CompileRequired,
		"CompileSelector":      affinity.CompileSelector,
		"CompileAdded":         affinity.CompileAdded,
		"CompileNode":          affinity.CompileNode,
		"CompilePods":          affinity.CompilePods,
		"Validate":             affinity.PodOptions{}.Validate,
		"WouldHelp":            affinity.NodeOptions{}.WouldHelp,
		"PodOptions.WouldHelp": affinity.PodOptions{}.WouldHelp,
		"hints of nodes": func(o, n *v1.Node) {
			_, _ = affinity.NodeOptions{}.WouldHelp(&v1.Pod{}, o, n)
			_, _ = affinity.PodOptions{}.WouldHelp(&v1.Pod{}, o, n)
		},
		"hints of pods": func(o, n *v1.Pod) { _, _ = affinity.PodOptions{}.WouldHelp(&v1.Pod{}, o, n) },
		"nil Selector":  func() *affinity.Selector { return nil },
		"NodeState": func() *affinity.FullNode {
			return compileNode(t, &v1.Pod{}, nil).Onto(plainNodes{w.nodes})
		},
		"State": state,
		"Trial": func() affinity.Trial { return state().NewTrial() },
	}, map[string]string{
		"MatchNode":         object,
		"CompileRequired":   object,
		"CompileNode":       object,
		"CompilePods":       object,
		"WouldHelp":         object,
		"State.OfLabels":    object,
		"State.Selected":    object,
		"State.OfTerms":     object,
		"State.Effect":      object,
		"State.Add":         object,
		"State.Remove":      object,
		"Trial.Add":         object,
		"Trial.Remove":      object,
		"NodeState.Check":   noSlot,
		"NodeState.Raw":     noSlot,
		"NodeState.Explain": noSlot,
		"State.Check":       noSlot,
		"Trial.Check":       noSlot,
	})
}
