package taints_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

func TestWouldHelp(t *testing.T) {
	pod := podWith(tol("a Exists _ _"))
	pod.UID = "p"
	other := pod.DeepCopy()
	other.UID = "q"
	updated := podWith(tol("node.kubernetes.io/unschedulable Exists _ _"))
	updated.UID = "p"
	otherTolerant := updated.DeepCopy()
	otherTolerant.UID = "q"
	var noNode *v1.Node
	open, soft, bad := node("a:NoSchedule"), node("b:PreferNoSchedule"), node("b:NoExecute")
	type test struct {
		name          string
		old, new      any
		taint, cordon bool
		why           string
	}
	cases := []test{
		{"added tolerated", nil, open, true, true, "a node to which the pod can go"},
		{"added typed nil", noNode, open, true, true, "a nil pointer is no old node"},
		{"added with soft taint", nil, soft, true, true, "PreferNoSchedule does not matter"},
		{"added untolerated", nil, bad, false, true, "the taint keeps the pod away; the node is not cordoned"},
		{"added cordoned", nil, cordoned(node()), true, false, "no taint; cordoned"},
		{"taint removed", bad, node(), true, false, "not tolerated before, tolerated now"},
		{"taint added", node(), bad, false, false, "worse than before"},
		{"tolerated before", node(), open, false, false, "nothing gained"},
		{"uncordoned", cordoned(node()), node(), false, true, "it was cordoned and is not"},
		{"still cordoned", cordoned(node()), cordoned(open.DeepCopy()), false, false, "still cordoned"},
		{"deleted", node(), nil, false, false, "the deletion of a node never helps"},
		{"deleted typed nil", node(), noNode, false, false, "the deletion of a node never helps"},
		{"this pod", pod, updated, true, true, "this pod got the toleration of cordoned nodes"},
		{"this pod still not", pod, pod, true, false, "this pod, without the toleration for cordoned nodes"},
		{"other pod", pod, other, false, false, "another pod"},
		{"other pod that tolerates", other, otherTolerant, false, false, "another pod got the toleration"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		testkit.Unchanged(t, func() {
			got, err := taints.Options{}.WouldHelp(pod, c.old, c.new)
			require.NoError(t, err)
			require.Equal(t, c.taint, got, "TaintToleration")
			got, err = taints.Options{}.CordonWouldHelp(pod, c.old, c.new)
			require.NoError(t, err)
			require.Equal(t, c.cordon, got, "NodeUnschedulable")
		}, pod)
	})
	for want, pair := range map[string][2]any{
		"old object of an event: got int, want *v1.Node or *v1.Pod":    {1, node()},
		"new object of an event: got string, want *v1.Node or *v1.Pod": {nil, "x"},
		"objects of an event: old is a pod and new is a node":          {pod, node()},
		"objects of an event: old is a node and new is a pod":          {node(), pod},
	} {
		_, err := taints.Options{}.WouldHelp(pod, pair[0], pair[1])
		require.EqualError(t, err, want)
		_, err = taints.Options{}.CordonWouldHelp(pod, pair[0], pair[1])
		require.Error(t, err)
	}
}

func podWith(ts ...v1.Toleration) *v1.Pod { return &v1.Pod{Spec: v1.PodSpec{Tolerations: ts}} }
