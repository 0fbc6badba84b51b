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

// One goroutine asks about a node while another asks for the reasons of a verdict, or which claims can be freed.
func TestReasonsBesideChecks(t *testing.T) {
	nodes := nodesOf("n1", "n2")
	broken := func() *devices.Full { // the class is gone
		ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1")}))
		gone := func(string) *resourcev1.DeviceClass { return nil }
		return devices.Compile(user("p", "own"), &byName{list: []*resourcev1.ResourceClaim{gpuClaim("own", 1)}}, nil).Onto(nodes, devices.NewAllocator(ledger, gone, nil, devices.Options{}), devices.Clock{})
	}
	failed := broken()
	verdict := failed.Check(0)
	require.NotEmpty(t, failed.Reasons(verdict))
	elsewhere := gpuClaim("own", 1)
	elsewhere.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n9"}}}}}}}
	for range 10 {
		s, allocated := broken(), stateOf(nodes, user("p", "own"), devices.Clock{Now: noon}, elsewhere)
		var all sync.WaitGroup
		all.Go(func() { s.Check(0) })
		all.Go(func() { s.Reasons(verdict) })
		all.Go(func() { allocated.Check(0) })
		all.Go(func() { allocated.Freed() })
		all.Wait()
		require.NotEmpty(t, s.Reasons(verdict))
		require.Equal(t, elsewhere, allocated.Freed().Deallocate)
	}
}
