package embed_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/examples/embed"
)

// The loop writes what is new, and tries again what failed.
func TestReconcile(t *testing.T) {
	var written []embed.Condition
	var refuse error
	c := start(t, func(_ string, c embed.Condition) error {
		written = append(written, c)
		return refuse
	})
	require.NoError(t, c.Reconcile(), "nothing to do")
	require.NoError(t, c.Set(node("n1", "4")))
	c.SetWorkload(web(2, "2"))
	refuse = errors.New("the server is busy")
	require.EqualError(t, c.Reconcile(), "workload shop/web: the server is busy")
	refuse = nil
	require.NoError(t, c.Reconcile())
	require.Len(t, written, 2)
	require.Equal(t, written[0], written[1])

	require.NoError(t, c.Set(node("n1", "5")))
	require.NoError(t, c.Reconcile())
	require.Len(t, written, 2, "the answer is the same")

	require.NoError(t, c.Remove(node("n1", "5")))
	require.NoError(t, c.Reconcile())
	require.Equal(t, embed.Condition{Message: "no nodes available to schedule pods"}, written[2])

	require.NoError(t, c.Set(node("n9", "4")))
	finished := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "done"}, Spec: spec("4"), Status: v1.PodStatus{Phase: v1.PodSucceeded}}
	finished.Spec.NodeName = "n9"
	require.NoError(t, c.Set(finished))
	require.NoError(t, c.Reconcile())
	require.Equal(t, embed.Condition{Ready: true, Count: 2, Nodes: []string{"n9", "n9"}}, written[3])

	c.SetWorkload(web(0, "2"))
	require.NoError(t, c.Reconcile())
	require.Equal(t, embed.Condition{Ready: true}, written[4])
}

// A pod may come before its node, and counts when the node comes.
func TestPodBeforeNode(t *testing.T) {
	var last embed.Condition
	c := start(t, func(_ string, c embed.Condition) error { last = c; return nil })
	early := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "early"}, Spec: spec("3")}
	early.Spec.NodeName = "n1"
	require.NoError(t, c.Set(early))
	c.SetWorkload(web(2, "1"))
	require.NoError(t, c.Set(node("n1", "4")))
	require.NoError(t, c.Reconcile())
	require.Equal(t, 1, last.Count)
	require.Equal(t, "0/1 nodes are available: 1 Insufficient cpu.", last.Message)
}

// The controller knows no claims: a workload with some is an error, and its condition stays as it was.
func TestClaims(t *testing.T) {
	var written []embed.Condition
	c := start(t, func(_ string, c embed.Condition) error { written = append(written, c); return nil })
	require.NoError(t, c.Set(node("n1", "4")))
	c.SetWorkload(web(1, "2"))
	require.NoError(t, c.Reconcile())
	w := web(1, "2")
	w.Template.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}}
	c.SetWorkload(w)
	for range 2 {
		require.EqualError(t, c.Reconcile(), "workload shop/web: template.spec.resourceClaims: Forbidden: the controller keeps no claims of devices")
	}
	require.Equal(t, []embed.Condition{{Ready: true, Count: 1, Nodes: []string{"n1"}}}, written)
}

// A new node goes behind the nodes that are there, as in kube-scheduler.
func TestNewNodesComeLast(t *testing.T) {
	var last embed.Condition
	c := start(t, func(_ string, c embed.Condition) error { last = c; return nil })
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		require.NoError(t, c.Set(node(name, "4")))
	}
	c.SetWorkload(web(4, "3"))
	require.NoError(t, c.Remove(node("n1", "4")))
	require.NoError(t, c.Remove(node("n3", "4")))
	require.NoError(t, c.Set(node("n5", "4")))
	require.NoError(t, c.Reconcile())
	require.Equal(t, []string{"n2", "n4", "n5"}, last.Nodes)
}

// A template that no attempt can read is an error each time.
func TestUnreadableTemplate(t *testing.T) {
	c := start(t, func(string, embed.Condition) error {
		t.Error("a condition was written")
		return nil
	})
	require.NoError(t, c.Set(node("n1", "4")))
	w := web(1, "2")
	w.Template.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Within"}}},
	}}
	c.SetWorkload(w)
	for range 2 {
		require.ErrorContains(t, c.Reconcile(), `"Within" is not a valid label selector operator`)
	}
}
