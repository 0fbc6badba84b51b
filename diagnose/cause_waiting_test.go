package diagnose

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// Pods whose affinity wants pods that wait: in a row that ends, in a row that is too long, in a circle, and in a row that leads into a circle.
func TestWaitingForEachOther(t *testing.T) {
	node := testkit.Node("n1").Label(v1.LabelHostname, "n1").Capacity("cpu=1,pods=10").Obj()
	wants := func(name string, other ...string) *v1.Pod {
		p := testkit.Pod(name).Labels("app=" + name)
		for _, o := range other {
			p = p.RequireWith(v1.LabelHostname, "app="+o)
		}
		return p.Obj()
	}
	large := testkit.Pod("l").Labels("app=l").Request("cpu=2").Obj()
	gone := testkit.Pod("b").Labels("app=b").Terminating().Obj()
	runs := wants("b")
	runs.Spec.NodeName = "n1"
	var row []*v1.Pod
	for k := range 9 {
		row = append(row, wants(fmt.Sprint("r", k), fmt.Sprint("r", k+1)))
	}
	const none = "its affinity by kubernetes.io/hostname wants pods with app=%s, and no such pod runs"
	type test struct {
		name, why string
		pod       *v1.Pod
		waiting   []*v1.Pod
		want      string
	}
	testkit.Run(t, []test{
		{"nobody waits", "there is no such pod", wants("a", "b"), nil, fmt.Sprintf(none, "b")},
		{"others wait", "the terms do not select them", wants("a", "b"), []*v1.Pod{nil, wants("c"), wants("a", "b")}, fmt.Sprintf(none, "b")},
		{"it is being deleted", "it never gets a node", wants("a", "b"), []*v1.Pod{gone}, fmt.Sprintf(none, "b")},
		{"it has a node", "it does not wait; the cluster does not have it", wants("a", "b"), []*v1.Pod{runs}, fmt.Sprintf(none, "b")},
		{"a node takes it", "it has not been tried yet", wants("a", "b"), []*v1.Pod{wants("b")}, fmt.Sprintf(none, "b") + ": default/b waits, and a node takes it"},
		{"it waits", "its cause is the cause", wants("a", "l"), []*v1.Pod{large}, fmt.Sprintf(none, "l") + ": default/l waits itself: it asks for cpu 2, and n1 has 1"},
		{"two terms", "no pod is of both", wants("a", "b", "l"), []*v1.Pod{large, wants("b")}, fmt.Sprintf(none, "b")},
		{"a row that a node ends", "the last one is tried later", wants("a", "b"), []*v1.Pod{wants("b", "c"), wants("c")},
			fmt.Sprintf(none, "b") + ": default/b waits for default/c, and a node takes default/c"},
		{"a row", "its end is the cause", wants("a", "b"), []*v1.Pod{wants("b", "l"), large},
			fmt.Sprintf(none, "b") + ": default/b waits for default/l, and default/l waits: it asks for cpu 2, and n1 has 1"},
		{"a long row", "six pods are followed", wants("a", "r0"), row,
			fmt.Sprintf(none, "r0") + ": default/r0 waits for default/r1, that for default/r2, that for default/r3, that for default/r4, and that for another pod"},
		{"two", "a circle", wants("a", "b"), []*v1.Pod{wants("b", "a"), wants("a", "b")},
			fmt.Sprintf(none, "b") + ": default/b waits for default/a in turn, so that neither can be the first"},
		{"three", "a circle", wants("a", "b"), []*v1.Pod{wants("a", "b"), wants("b", "c"), wants("c", "a")},
			fmt.Sprintf(none, "b") + ": default/b waits for default/c, and that for default/a in turn, so that none can be the first"},
		{"into a circle", "the pod is not of it", wants("a", "b"), []*v1.Pod{wants("b", "c"), wants("c", "b")},
			fmt.Sprintf(none, "b") + ": default/b waits for default/c, and that for default/b in turn, so that none of these can be the first"},
	}, func(t *testing.T, c test) {
		s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node}})
		require.NoError(t, err)
		plan, err := placement.New(s, placement.DefaultProfile())
		require.NoError(t, err)
		cause := CauseOf(plan, s, c.pod, c.waiting...)
		require.Equal(t, c.want, cause.Text)
		require.Equal(t, causeAffinity, cause.Type)
		require.Equal(t, causeAffinity, CauseOf(plan, s, c.pod).Type, "who counts causes by type needs no waiting pods")
	})
}

// The pod for which another one waits is tried on the nodes that are there, not on a new node alone: this pod may run on n1 only.
func TestWaitForAPodOnANodeThatIsThere(t *testing.T) {
	second := testkit.Pod("b").Labels("app=b").Request("cpu=1").Obj()
	first := testkit.Pod("a").RequireWith(v1.LabelHostname, "app=b").Request("cpu=1").RequireNodes(v1.NodeSelectorTerm{
		MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}},
	}).Obj()
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Label(v1.LabelHostname, "n1").Capacity("cpu=4,pods=9").Obj()}})
	require.NoError(t, err)
	d, err := Relax(Input{Snapshot: s, Pending: []*v1.Pod{first, second}}, first, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"wait for default/b: then this pod gets a node too"}, d.Advice()[:1])
}
