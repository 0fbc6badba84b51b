package failures

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Pods that waited before the failure hold room on the nodes that they are nominated to, until they get a node or lose the nomination.
func TestNominated(t *testing.T) {
	waits := func(name string, priority int32, cpu, nominated string) *v1.Pod {
		return testkit.Pod(name).Priority(priority).Request("cpu=" + cpu).Nominated(nominated).Obj()
	}
	type test struct {
		name, why string
		pending   []*v1.Pod
		web       string // what the lost pod asks for
		want      []string
	}
	gated, foreign := waits("gated", 0, "2", "n2"), waits("foreign", 0, "2", "n2")
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}}
	foreign.Spec.SchedulerName = "other"
	testkit.Run(t, []test{
		{"its own node", "n2 would take p too, and comes first", []*v1.Pod{waits("p", 0, "1", "n4")}, "2", []string{"p n4", "web-0 n2"}},
		{"room for a pod that comes later", "first and p are alike but for the nomination; first is tried first and leaves n2 to p",
			[]*v1.Pod{waits("first", 0, "2", ""), waits("p", 0, "2", "n2")}, "2", []string{"first n3", "p n2", "web-0 n5"}},
		{"no room against higher pods", "first is more important and takes n2, where p is nominated",
			[]*v1.Pod{waits("first", 9, "2", ""), waits("p", 0, "2", "n2")}, "2", []string{"first n2", "p n3", "web-0 n5"}},
		{"a nomination to the lost node", "n1 is gone, and n2 is the first of the others", []*v1.Pod{waits("p", 0, "2", "n1")}, "2", []string{"p n2", "web-0 n3"}},
		{"a nomination that does not help", "no node is large enough for p, which loses n2", []*v1.Pod{waits("p", 0, "3", "n2")}, "2", []string{"p ", "web-0 n2", "p "}},
		{"pods that nobody tries", "a gated pod and a pod of another scheduler hold no room and get no node", []*v1.Pod{gated, foreign}, "2", []string{"web-0 n2"}},
	}, func(t *testing.T, c test) {
		w := five("cpu=2")
		w.app("web", "cpu="+c.web, "n1", nil)
		w.in.Pending = c.pending
		var got []string
		_, err := w.planner(t).Run([]Scenario{{"test", []string{"n1"}}}, Options{Observe: func(_ int, a Attempt) {
			got = append(got, fmt.Sprintf("%s %s", a.Pod.Name, a.Decision.Node))
		}})
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.why)
	})
}

// A preemptor is nominated to the node of its victims. A pod of lower priority that was nominated to this node loses the nomination.
func TestNominatedByPreemption(t *testing.T) {
	w := five("cpu=2")
	w.class("high", 1000)
	w.app("batch", "cpu=2", "n2 n3 n4 n5", nil)
	w.app("web", "cpu=2", "n1", classed("high"))
	w.in.Pending = []*v1.Pod{testkit.Pod("p").Priority(5).Request("cpu=1").Nominated("n2").Obj()}
	var got []string
	_, err := w.planner(t).Run([]Scenario{{"test", []string{"n1"}}}, Options{Observe: func(_ int, a Attempt) {
		got = append(got, fmt.Sprintf("%s on %q: %s, preempts on %q", a.Pod.Name, a.Pod.Status.NominatedNodeName, a.Decision.Node, a.Nominated))
	}})
	require.NoError(t, err)
	require.Equal(t, []string{
		`web-0 on "": , preempts on "n2"`, `web-0 on "n2": n2, preempts on ""`,
		`p on "": , preempts on "n3"`, `p on "n3": n3, preempts on ""`,
	}, got[:4])
}
