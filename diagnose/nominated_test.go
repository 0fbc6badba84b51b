package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// A nominated pod goes to its node as things are, and with each relaxation where placement says. Compare asks about scores, which such
// a pod does not have.
func TestNominated(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{
		testkit.Node("n1").Capacity("cpu=4").Label("pool", "a").Obj(), testkit.Node("n2").Capacity("cpu=2").Label("pool", "b").Obj(),
	}})
	require.NoError(t, err)
	in := Input{Snapshot: s}
	pod := testkit.Pod("p").Request("cpu=1").Nominated("n2").Obj()
	plan, err := placement.New(s, placement.DefaultProfile())
	require.NoError(t, err)
	require.Equal(t, "n2", plan.Decide(pod, placement.Options{}).Node)

	d, err := Relax(in, pod, Options{})
	require.NoError(t, err)
	require.Equal(t, "n2", d.Node)
	o, err := Wake(in, pod, WakeOptions{})
	require.NoError(t, err)
	require.Equal(t, "n2", o.Node)
	d, err = Relax(in, pod, Options{Where: func(n *v1.Node) bool { return n.Name == "n1" }})
	require.NoError(t, err)
	require.Equal(t, "n1", d.Node, "of the nodes that the caller wants")
	c, err := Compare(in, pod, "n2")
	require.NoError(t, err)
	require.Equal(t, "n1", c.Chosen, "has the higher score")
	require.Equal(t, "n2", pod.Status.NominatedNodeName)

	pod.Spec.NodeSelector = map[string]string{"pool": "c"}
	d, err = Relax(in, pod, Options{})
	require.NoError(t, err)
	require.Empty(t, d.Node)
	var free []string
	for _, r := range d.Relaxations {
		fork := s.Fork()
		changed, err := Apply(fork, pod, r.Changes...)
		require.NoError(t, err)
		plan, err := placement.New(fork, placement.DefaultProfile())
		require.NoError(t, err)
		require.Equal(t, plan.Decide(changed, placement.Options{}).Node, r.Node, r.Text())
		if len(r.Changes) == 1 && r.Changes[0].edit != nil {
			free = append(free, r.Node)
		}
	}
	require.Equal(t, []string{"n2"}, free, "without the selector the pod goes to the node that it is nominated to")
}

// A pod whose victims are still leaving does not preempt elsewhere, as in v1.36.
func TestNominatedWaits(t *testing.T) {
	victim := testkit.Pod("victim").Priority(1).Request("cpu=2").On("n2").Terminating().Obj()
	victim.Status.Conditions = []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler}}
	s, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=2").Obj(), testkit.Node("n2").Capacity("cpu=2").Obj()},
		Pods:  []*v1.Pod{victim, testkit.Pod("other").Priority(1).Request("cpu=2").On("n1").Obj()},
	})
	require.NoError(t, err)
	for nominated, preempts := range map[string]string{"n2": "", "": "n1"} {
		d, err := Relax(Input{Snapshot: s}, testkit.Pod("p").Priority(9).Request("cpu=2").Nominated(nominated).Obj(), Options{})
		require.NoError(t, err)
		require.Equal(t, preempts, d.Preempts, nominated)
	}
}
