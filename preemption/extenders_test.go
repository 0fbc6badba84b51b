package preemption_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
)

func TestExtenders(t *testing.T) {
	base := func() situation {
		return parts(node("n1", "4"), node("n2", "4"), pod("a", 1, "4", "n1").Obj(), pod("b", 2, "2", "n2").Obj(), pod("c", 2, "2", "n2").Obj())
	}
	p := pod("p", 10, "4", "").Obj()
	answer := func(list ...preemption.ExtenderVictims) preemption.Extender {
		return preemption.Extender{Name: "http://x", Process: func(*v1.Pod, []preemption.Candidate) ([]preemption.ExtenderVictims, error) { return list, nil }}
	}
	says := func(node string, violations int64, uids ...types.UID) preemption.ExtenderVictims {
		return preemption.ExtenderVictims{Node: node, Violations: violations, UIDs: uids}
	}
	failing := preemption.Extender{Process: func(*v1.Pod, []preemption.Candidate) ([]preemption.ExtenderVictims, error) {
		return nil, errors.New("down")
	}}
	ignorable := func(x preemption.Extender) preemption.Extender {
		x.Ignorable = true
		return x
	}
	type test struct {
		name, why string
		list      []preemption.Extender
		want      string
	}
	second := base()
	second.extenders = []preemption.Extender{answer(says("n2", 0, "uid-default-b"))}
	require.Equal(t, 1, second.preempt(t, p).Victims[0].Slot, "a victim has the slot of its node")
	testkit.Run(t, []test{
		{"leaves one node out", "the other is taken", []preemption.Extender{answer(says("n2", 0, "uid-default-b", "uid-default-c"))}, "n2: b c"},
		{"other victims and violations", "as the extender answers", []preemption.Extender{answer(says("n1", 7, "uid-default-a"), says("n2", 3, "uid-default-c"))}, "n2: c, violations 3"},
		{"a node twice", "the last answer about n1 counts", []preemption.Extender{answer(says("n1", 0, "uid-default-a"), says("n2", 3, "uid-default-b"), says("n1", 7, "uid-default-a"))}, "n2: b, violations 3"},
		{"a victim twice", "counts twice in the choice", []preemption.Extender{answer(says("n2", 0, "uid-default-b", "uid-default-b"))}, "n2: b b"},
		{"error", "ends preemption", []preemption.Extender{failing}, "Error, keep: down"},
		{"ignorable error", "is passed over", []preemption.Extender{ignorable(failing)}, "n1: a"},
		{"unknown pod", "an error", []preemption.Extender{answer(says("n1", 0, "uid-9"))}, "Error, keep: extender: http://x claims to preempt pod (UID: &{uid-9}) on node: n1, but the pod is not found on that node"},
		{"ignorable with an unknown pod", "is passed over", []preemption.Extender{ignorable(answer(says("n1", 0, "uid-9")))}, "n1: a"},
		{"unknown node", "an error", []preemption.Extender{answer(says("n9", 0))}, `Error, keep: extender: http://x names node "n9", which is not in the cluster`},
		{"no victims", "an error", []preemption.Extender{answer(says("n1", 0))}, `Error, keep: expected at least one victim pod on node "n1"`},
		{"ignorable without victims", "the node is left out", []preemption.Extender{ignorable(answer(says("n1", 0), says("n2", 0, "uid-default-b")))}, "n2: b"},
		{"nothing left", "nobody gives way, and the nomination stays", []preemption.Extender{answer()}, "Unschedulable, keep: no candidate node for preemption"},
		{"the next one sees the answer", "an empty answer ends preemption", []preemption.Extender{answer(says("n2", 0, "uid-default-b")), {Process: func(_ *v1.Pod, got []preemption.Candidate) ([]preemption.ExtenderVictims, error) {
			return nil, errors.New(shownCandidate(got[0]))
		}}}, "Error, keep: n2: b"},
		{"empty answer ends it", "the next extender is not asked", []preemption.Extender{answer(), failing}, "Unschedulable, keep: no candidate node for preemption"},
	}, func(t *testing.T, c test) {
		s := base()
		s.extenders = c.list
		require.Equal(t, c.want, shown(s.preempt(t, p)))
	})
	s := parts(node("n1", "4"), pod("a", 10, "4", "n1").Obj())
	twice := base()
	twice.extenders = []preemption.Extender{answer(says("n2", 0, "uid-default-b", "uid-default-b"))}
	r := twice.preempt(t, p)
	require.Len(t, r.Actions(p, nil).Evict, 1, "a victim that is named twice is deleted once")
	s.extenders = []preemption.Extender{failing}
	require.Equal(t, none, shown(s.preempt(t, p)), "without candidates no extender is asked")
}

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
