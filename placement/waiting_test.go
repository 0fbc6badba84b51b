package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
)

// Nominated pods hold room for which their status, and later their attempts, say so.
func TestNominations(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Obj(), testkit.Node("n2").Obj()}})
	require.NoError(t, err)
	pod := func(name, node string, priority int32) *v1.Pod {
		p := testkit.Pod(name).Nominated(node).Priority(priority).Obj()
		p.UID = ""
		return p
	}
	a, b, c, gated, plain := pod("a", "n1", 5), pod("b", "n1", 0), pod("c", "n2", 5), pod("gated", "n1", 5), pod("plain", "", 5)
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}}
	n := NewNominations(s, []*v1.Pod{a, b, c, gated, plain})
	counted := func(of *v1.Pod) (out []string) {
		o := n.Options(of, 0)
		if o.Nominated == nil {
			return nil
		}
		for i := range s.Len() {
			for _, q := range filter.Nominated(of, o.Nominated(i)) {
				out = append(out, s.Node(i).Name+" "+q.Name)
			}
		}
		return out
	}
	require.Equal(t, []string{"n1 a", "n2 c"}, counted(plain), "not gated and not b, whose priority is lower")
	require.Equal(t, []string{"n2 c"}, counted(a), "a pod holds no room against itself, also without a UID")
	require.Equal(t, []string{"n1 a", "n2 c"}, counted(b))
	require.Equal(t, 7, n.Options(plain, 7).Next)
	require.Same(t, a, n.Of(a), "as it is")

	n.Failed(c, preemption.Result{Outcome: preemption.Success, Candidate: preemption.Candidate{Node: "n1"}})
	require.Equal(t, []string{"n1 a", "n1 c"}, counted(plain))
	require.Equal(t, []string{"n1", "", "n1"}, []string{n.Node(a), n.Node(b), n.Node(c)}, "b has a lower priority than c and loses the node")
	require.Equal(t, "n1", n.Of(c).Status.NominatedNodeName)
	require.Equal(t, "n2", c.Status.NominatedNodeName, "the pod does not change")
	require.Empty(t, n.Of(b).Status.NominatedNodeName)

	n.Failed(a, preemption.Result{Outcome: preemption.Unschedulable})
	require.Equal(t, "n1", n.Node(a), "a waits for its victims")
	n.Failed(a, preemption.Result{Outcome: preemption.Unschedulable, ClearNomination: true})
	require.Equal(t, []string{"n1 c"}, counted(plain))
	require.Nil(t, n.Options(c, 0).Nominated, "there is no other")
	n.Nominate(c, "")
	require.Nil(t, n.Options(plain, 0).Nominated)
}

func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		profile, pod string
		want         bool
	}{
		{"", "", true}, {"", "default-scheduler", true}, {"default-scheduler", "", true}, {"mine", "mine", true},
		{"mine", "", false}, {"", "mine", false},
	} {
		pod := testkit.Pod("p").Obj()
		pod.Spec.SchedulerName = c.pod
		require.Equal(t, c.want, Profile{SchedulerName: c.profile}.Schedules(pod), "%q and %q", c.profile, c.pod)
	}
}
