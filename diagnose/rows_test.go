package diagnose

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// advisedOn returns the texts of all that a diagnosis proposes about a pod that has room on a node alone that has a taint. Half of the pods select
// the node; of the others the node is of a kind with one that has no taint, which is full.
func advisedOn(t *testing.T, key string, meant bool) (texts []string) {
	t.Helper()
	node := func(name string) testkit.NodeBuilder {
		return testkit.Node(name).Label(v1.LabelHostname, name).Capacity("cpu=8,memory=8Gi,pods=10")
	}
	only, pod := node("only").Taint(key+"=v:NoSchedule"), testkit.Pod("web-0").Owner("apps/v1", "ReplicaSet", "web-1").Request("cpu=4")
	if meant {
		only, pod = only.Label("disk", "ssd"), pod.NodeSelector("disk=ssd")
	}
	n := only.Obj()
	n.Spec.Unschedulable = key == v1.TaintNodeUnschedulable
	full := testkit.Pod("full").On("full").Owner("apps/v1", "ReplicaSet", "busy-1").Priority(9).Request("cpu=8").Obj()
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node("full").Obj(), n}, Pods: []*v1.Pod{full}})
	require.NoError(t, err)
	p := pod.Priority(0).Obj()
	sibling := p.DeepCopy()
	sibling.Name, sibling.UID = "web-1", ""
	d, err := Relax(Input{Snapshot: s, Pending: []*v1.Pod{p, sibling}}, p, Options{Size: 2})
	require.NoError(t, err)
	require.Empty(t, d.Node)
	for _, r := range d.Remedies {
		texts = append(texts, r.Text)
	}
	for _, r := range d.Relaxations {
		texts = append(texts, r.Text())
	}
	return texts
}

// Each key of the catalogue counts: without it, and with the head of a key with a star alone, advice would say what it must not. The catalogue
// has every taint of the list that the tests of the commands read.
func TestEachRowCounts(t *testing.T) {
	whole := taintRows
	t.Cleanup(func() { taintRows = whole })
	said := func(key string) bool {
		for _, meant := range []bool{true, false} {
			for _, text := range advisedOn(t, key, meant) {
				if len(testkit.Harms(text)) > 0 {
					return true
				}
			}
		}
		return false
	}
	for _, key := range testkit.AgentTaints {
		at := slices.IndexFunc(whole, func(r taintRow) bool { return matches(r.keys, key) })
		require.GreaterOrEqual(t, at, 0, "the catalogue lacks %s", key)
		taintRows = whole
		require.False(t, said(key), key)
		row := whole[at]
		row.keys = slices.DeleteFunc(slices.Clone(row.keys), func(k string) bool { return matches([]string{k}, key) })
		taintRows = slices.Clone(whole)
		taintRows[at] = row
		if key == v1.TaintNodeUnschedulable { // the filter of cordons keeps the pod off too
			continue
		}
		require.True(t, said(key), "nothing changes without %s", key)
	}
}
