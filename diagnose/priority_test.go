package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// The pods of a DaemonSet get the lowest priority with which preemption makes room on the one node that is meant.
func TestPriority(t *testing.T) {
	yes := true
	agent := func(namespace string, never bool) *v1.Pod {
		p := testkit.Pod("agent").Request("cpu=1").Obj()
		p.Namespace = namespace
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "agent", Controller: &yes}}
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchFields: []v1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}},
		}}}}}
		if never {
			policy := v1.PreemptNever
			p.Spec.PreemptionPolicy = &policy
		}
		return p
	}
	full := func(name string, priority int32) *v1.Pod {
		return testkit.Pod(name).On("n1").Request("cpu=1").Priority(priority).Obj()
	}
	type test struct {
		name, why string
		pods      []*v1.Pod
		pod       *v1.Pod
		spare     bool // another node has room
		want      []string
	}
	const change = "DaemonSet default/agent: spec.template.spec.priorityClassName: a class above "
	testkit.Run(t, []test{
		{"the victim has another node", "it comes before the move, which frees one node once", []*v1.Pod{full("a", 0), full("b", 5)}, agent("default", false), true,
			[]string{change + "0 (default/a gives way and goes to n2)", "move default/a from n1 to n2"}},
		{"the victim waits", "the change is after all that make nobody wait, and is said all the same", []*v1.Pod{full("a", 3), full("b", 5)}, agent("default", false), false,
			[]string{change + "3 (default/a gives way and does not come back)"}},
		{"the pod never preempts", "no priority helps", []*v1.Pod{full("a", 0), full("b", 0)}, agent("default", true), true,
			[]string{"move default/b from n1 to n2"}},
		{"pods of the system", "a person makes no class above 1000000000", []*v1.Pod{full("a", 2000000000), full("b", 2000001000)}, agent("default", false), false, nil},
		{"pods of the system, and one of kube-system", "pods there may have the highest classes", []*v1.Pod{full("a", 2000000000), full("b", 2000001000)}, agent("kube-system", false), false,
			[]string{"DaemonSet kube-system/agent: spec.template.spec.priorityClassName: a class above 2000000000 (default/a gives way and does not come back)"}},
	}, func(t *testing.T, c test) {
		nodes := []*v1.Node{testkit.Node("n1").Capacity("cpu=2").Obj()}
		if c.spare {
			nodes = append(nodes, testkit.Node("n2").Capacity("cpu=2").Obj())
		}
		o := cluster.Objects{Nodes: nodes, Pods: c.pods}
		d := relax(t, o, c.pod, Options{Cost: only(Priority, MovePods)})
		var have []string
		for _, r := range ranked(d.Relaxations, d.Cause) {
			require.Equal(t, "n1", r.Node)
			have = append(have, r.Text())
		}
		require.Equal(t, c.want, have)
	})
}
