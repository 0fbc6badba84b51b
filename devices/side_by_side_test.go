package devices_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/testkit"
)

// A state may be asked by several goroutines at once: here by two, of the same question, about nodes with and without room. Both get the answer
// that one gets alone. The race detector finds a lock that is missing, because nothing else orders the two.
func TestStatesSideBySide(t *testing.T) {
	nodes := nodesOf("n1", "n2")
	pod := user("p", "own")
	fresh := func() *devices.Full {
		return stateOf(nodes, pod, devices.Clock{Now: noon}, gpuClaim("own", 2))
	}
	of := func(ask func(s *devices.Full) any) func(s *devices.Full) func() any {
		return func(s *devices.Full) func() any { return func() any { return ask(s) } }
	}
	type test struct {
		name string
		ask  func(s *devices.Full) func() any
	}
	testkit.Run(t, []test{
		{"verdicts", of(func(s *devices.Full) any { return []any{s.Check(0), s.Check(1)} })},
		{"reasons", of(func(s *devices.Full) any { return s.Reasons(s.Check(0)) })},
		{"scores", of(func(s *devices.Full) any { return s.Raw(1) })},
		{"explanations", of(func(s *devices.Full) any { e, ok := s.Explain(0); return []any{e, ok} })},
		{"numbers", of(func(s *devices.Full) any { return s.Numbers(0) })},
		{"shortages", of(func(s *devices.Full) any { lacks, sees := s.Shortage(0); return []int{lacks, sees} })},
		{"allocations", of(func(s *devices.Full) any { return s.Allocation(1) })},
		{"freed claims", func(*devices.Full) func() any {
			claim := gpuClaim("own", 1)
			claim.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n9"}}}}}}}
			s := stateOf(nodes, pod, devices.Clock{Now: noon}, claim)
			return func() any { return []any{s.Check(0), s.Freed()} }
		}},
		{"kept answers", func(s *devices.Full) func() any {
			k := s.Kept()
			return func() any { return []any{k.Check(0), k.Check(1), k.Raw(1)} }
		}},
	}, func(t *testing.T, x test) {
		want := x.ask(fresh())()
		for range 10 {
			ask := x.ask(fresh())
			var got [2]any
			var both sync.WaitGroup
			for k := range got {
				both.Go(func() { got[k] = ask() })
			}
			both.Wait()
			require.Equal(t, slices.Repeat([]any{want}, 2), got[:])
		}
	})
}
