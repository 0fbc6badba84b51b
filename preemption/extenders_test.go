package preemption_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/preemption"
)

// Every extender gets the candidates sorted by node name, and so does the caller, whatever order an answer has.
func TestOrderOfExtendedCandidates(t *testing.T) {
	s := parts(node("n3", "4"), node("n1", "4"), node("n2", "4"), pod("a", 1, "4", "n1").Obj(), pod("b", 1, "4", "n2").Obj(), pod("c", 1, "4", "n3").Obj())
	var seen [][]string
	names := func(list []preemption.Candidate) (out []string) {
		for _, c := range list {
			out = append(out, c.Node)
		}
		return out
	}
	backwards := preemption.Extender{Process: func(_ *v1.Pod, got []preemption.Candidate) (out []preemption.ExtenderVictims, _ error) {
		seen = append(seen, names(got))
		for _, c := range slices.Backward(got) {
			out = append(out, preemption.ExtenderVictims{Node: c.Node, UIDs: []types.UID{c.Victims[0].Pod.UID}})
		}
		return out, nil
	}}
	s.extenders = []preemption.Extender{backwards, backwards}
	s.options.Offset = 1 // the nodes are found in another order
	r := s.preempt(t, pod("p", 10, "4", "").Obj())
	want := []string{"n1", "n2", "n3"}
	require.Equal(t, [][]string{want, want}, seen)
	require.Equal(t, want, names(r.Candidates))
	s.extenders = nil
	r = s.preempt(t, pod("p", 10, "4", "").Obj())
	require.Equal(t, []string{"n2", "n3", "n1"}, names(r.Candidates), "without extenders in the order in which they were found")
}
