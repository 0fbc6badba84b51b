package taints_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

// Nil, zero and extreme arguments give an error or the zero answer, except for objects that must not be nil and slots that
// do not exist.
func TestMisuse(t *testing.T) {
	nodes := testkit.NewCluster([]*v1.Node{{}}, nil)
	var none *taints.Evaluator
	const object, noSlot = "objects must not be nil", "a slot is a number from 0 to Len()-1"
	testkit.Misuse(t, map[string]any{
		"Untolerated":      taints.Untolerated,
		"Matches":          taints.Matches,
		"MergeTolerations": taints.MergeTolerations,
		"Compile":          taints.Compile,
		"WouldHelp":        taints.Options{}.WouldHelp,
		"CordonWouldHelp":  taints.Options{}.CordonWouldHelp,
		"hints of nodes": func(o, n *v1.Node) {
			_, _ = taints.Options{}.WouldHelp(&v1.Pod{}, o, n)
			_, _ = taints.Options{}.CordonWouldHelp(&v1.Pod{}, o, n)
		},
		"nil Evaluator.Deadline":           none.Deadline,
		"nil Evaluator.ToleratesNoExecute": none.ToleratesNoExecute,
		"State":                            func() taints.State { return none.On(nodes) },
		"CordonState":                      func() taints.CordonState { return none.OnCordon(nodes) },
	}, map[string]string{
		"Untolerated":       object,
		"Matches":           object,
		"State.Check":       noSlot,
		"State.Raw":         noSlot,
		"State.Explain":     noSlot,
		"CordonState.Check": noSlot,
	})
}

// The program of the package comment compiles and runs: it stands in the examples.
func TestComment(t *testing.T) {
	testkit.CommentRuns(t, "doc.go", "example_comment_test.go")
}
