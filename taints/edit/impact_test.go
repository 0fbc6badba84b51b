package edit

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

var words = map[taints.Stay]string{taints.NoTaint: "NoTaint", taints.Forever: "Forever", taints.Limited: "Limited", taints.Leave: "Leave"}

func TestImpact(t *testing.T) {
	pod := func(name, on string, ts ...v1.Toleration) *v1.Pod {
		p := testkit.Pod(name).On(on).Obj()
		p.Spec.Tolerations = ts
		return p
	}
	n := node("old:NoExecute")
	n.Name = "node1"
	old := stay("old", forever)
	pods := []*v1.Pod{
		pod("web/slow", "node1", old, stay("new", 300)),
		pod("web/none", "node1", old),
		pod("web/elsewhere", "node2"),
		pod("web/forever", "node1", old, stay("new", forever)),
		pod("db/fast", "node1", old, stay("new", 30)),
		pod("db/leaving", "node1"),
		pod("db/value", "node1", old, tol("new Equal other NoExecute")),
		nil,
	}
	var got []string
	testkit.Unchanged(t, func() {
		for _, d := range Impact(n, taint("new=v:NoExecute"), pods, taints.Options{}) {
			got = append(got, d.Pod.Name+" "+words[d.Before.Stay]+" "+words[d.After.Stay]+" "+d.After.After.String()+" "+d.Taint.ToString())
		}
	}, n)
	require.Equal(t, []string{
		"leaving Leave Leave 0s old:NoExecute",
		"value Forever Leave 0s new=v:NoExecute",
		"none Forever Leave 0s new=v:NoExecute",
		"fast Forever Limited 30s new=v:NoExecute",
		"slow Forever Limited 5m0s new=v:NoExecute",
	}, got)
	require.Empty(t, Impact(node(), taint("new:NoSchedule"), pods, taints.Options{}), "NoSchedule makes nobody leave")

	// Replacing a taint by one with another value decides anew.
	n.Spec.Taints = taintList("new=v:NoExecute")
	p := pod("web/equal", "node1", tol("new Equal v NoExecute"))
	require.Empty(t, Impact(n, taint("new=v:NoExecute"), []*v1.Pod{p}, taints.Options{}))
	require.Len(t, Impact(n, taint("new=w:NoExecute"), []*v1.Pod{p}, taints.Options{}), 1)
}
