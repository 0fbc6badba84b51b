package filter

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Nil, zero and extreme arguments give an error or the zero answer, except for nil objects, slots that do not exist and
// verdicts of another state.
func TestMisuse(t *testing.T) {
	const object, noSlot = "objects must not be nil", "slots run from 0 to Len()-1"
	nodes := func() Cluster { return testkit.NewCluster([]*v1.Node{{}, nil}, nil) }
	testkit.Misuse(t, map[string]any{
		"CompileFeatures":    CompileFeatures,
		"CompileFit":         CompileFit,
		"CompileNodeName":    CompileNodeName,
		"CompilePorts":       CompilePorts,
		"Cut":                Cut,
		"FeaturesWouldHelp":  FeaturesWouldHelp,
		"FitHint":            FitHint,
		"Gated":              Gated,
		"Lacks":              Lacks,
		"NodeNameWouldHelp":  NodeNameWouldHelp,
		"Nominated":          Nominated,
		"NumToFind":          NumToFind,
		"PortsWouldHelp":     PortsWouldHelp,
		"RequiredFeatures":   RequiredFeatures,
		"ScanOrder":          ScanOrder,
		"ValidatePercentage": ValidatePercentage,
		"hint of FitHint":    FitHint(FitOptions{}),
		"hints of nodes": func(o, n *v1.Node) {
			_, _ = FitHint(FitOptions{})(&v1.Pod{}, o, n)
			_, _ = PortsWouldHelp(&v1.Pod{}, o, n)
			_, _ = NodeNameWouldHelp(&v1.Pod{}, o, n)
			_, _ = FeaturesWouldHelp(&v1.Pod{}, o, n)
		},
		"hints of pods": func(o, n *v1.Pod) {
			_, _ = FitHint(FitOptions{})(&v1.Pod{}, o, n)
			_, _ = PortsWouldHelp(&v1.Pod{}, o, n)
		},
		"NodeName":  func() Predicate { return CompileNodeName(&v1.Pod{}).On(nodes()) },
		"Features":  func() Predicate { return CompileFeatures(&v1.Pod{}).On(nodes()) },
		"Ports":     func() TrialState[PortConflict] { return CompilePorts(&v1.Pod{}).On(nodes()) },
		"Histogram": func() *Histogram { return new(Histogram) },
		"Search":    func() Search { return Search{} },
		"Message":   func() Message { return Message{} },
	}, map[string]string{
		"CompileNodeName":  object,
		"CompilePorts":     object,
		"Lacks":            object,
		"Nominated":        object,
		"ScanOrder":        object,
		"Features.Check":   noSlot,
		"NodeName.Check":   noSlot,
		"Ports.Check":      noSlot,
		"Features.Reasons": "the verdict must be one of the state's",
		"NodeName.Reasons": "the verdict must be one of the state's",
	}, []*v1.Pod{nil, {}})
}
