package rollout

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// What a mark, a wave and a pod that becomes ready keep does not change when the lists that go on change.
func TestKeptLists(t *testing.T) {
	w := five("cpu=4")
	for _, name := range []string{"a", "b"} {
		w.pod("", "", name, "", template(name, "cpu=1", nil))
	}
	x := w.begun(t, Options{})
	pending := slices.Clone(x.pending)
	require.Len(t, pending, 2)
	m := x.mark()
	x.pending = slices.Delete(x.pending, 0, 1)
	x.back(m)
	require.Equal(t, pending, x.pending)

	first, second := &item{}, &item{}
	wave := &wave{run: &run{budgets: &budgets{}, starting: []*item{first, second}}}
	s := wave.saved()
	wave.starting = slices.Delete(wave.starting, 0, 1)
	wave.restore(s)
	require.Len(t, wave.starting, 2)
	require.Same(t, first, wave.starting[0])
	require.Same(t, second, wave.starting[1])

	p := testkit.Pod("p").Obj()
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}, {Type: v1.PodScheduled, Status: v1.ConditionTrue}}
	testkit.Unchanged(t, func() { require.Len(t, withReady(p, "n1").Status.Conditions, 2) }, p)

	planner := w.planner(t)
	planner.complete(Options{}).Nodes[0] = "x"
	require.Equal(t, "n1", planner.nodes[0])
}

// The room of a budget begins with what the budget says when the pods begin to leave.
func TestRoomAtTheBegin(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2 n3", nil)
	w.budget("web", "web", "2")
	x := w.begun(t, Options{})
	x.mark()
	x.budgets.watch(x.onNode["n1"])
	require.Equal(t, []Room{{Budget: "default/web", Minimum: 2, Begin: 1, Lowest: 3}}, x.budgets.seen())
}

// Every pod that is left on a surge node goes with the node.
func TestPodsGoWithTheirNode(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n1 n1 n2", nil)
	x := w.begun(t, Options{})
	x.mark()
	require.Len(t, x.onNode["n1"], 3)
	x.settle(drain{step: Step{Action: Retire, Nodes: []string{"n1"}}})
	require.Empty(t, x.onNode["n1"])
	require.Negative(t, x.snapshot.Slot("n1"))
	require.Empty(t, x.snapshot.Orphans())
}
