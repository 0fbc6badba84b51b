package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// meter is a filter over rows that fails on the nodes with a label.
type meter struct{ c Cluster }

func (m meter) Name() string { return "Meter" }
func (m meter) Check(i int) resources.Verdict {
	if m.c.Node(i).Labels["meter"] == "broken" {
		return 1
	}
	return 0
}
func (meter) Code(resources.Verdict) filter.Code        { return filter.Error }
func (meter) Reasons(resources.Verdict) (text []string) { return []string{"the meter is broken"} }

// A filter over rows that fails on a node ends the attempt, though a later filter rejects that node and all nodes like it, and though another
// node is free. So it does wherever the search begins, for the first pod of its kind and later ones, whether work is kept or not.
func TestErrorOfRowFilter(t *testing.T) {
	var nodes []*v1.Node
	for k := range 6 {
		n := testkit.Node(fmt.Sprint("n", k)).Label("tenant", "red").Capacity("pods=9,cpu=4")
		if k == 3 {
			n = n.Label("meter", "broken")
		}
		nodes = append(nodes, n.Obj())
	}
	nodes = append(nodes, testkit.Node("free").Capacity("pods=9,cpu=4").Obj())
	filters := func(keep bool) Profile {
		own, last := &Plugin{Name: "Meter", Filter: func(_ *v1.Pod, c Cluster) PreFiltered { return PreFiltered{Predicate: meter{c}} }}, plainTenant()
		if keep {
			own.Keep, own.AppendKey, last = KeepByNodeAndPods, func(dst []byte, _ *v1.Pod) []byte { return dst }, tenant()
		}
		return Profile{Filters: []*Plugin{own, last}, Scores: []Weighted{{last, 1}}} // without a score the first free node ends the search
	}
	s, err := cluster.New(cluster.Objects{Nodes: nodes})
	require.NoError(t, err)
	for _, keep := range []bool{false, true} {
		for next := range len(nodes) {
			p, err := New(s, filters(keep))
			require.NoError(t, err)
			for round := range 3 {
				d := p.Decide(testkit.Pod("p").Labels("tenant=blue").Obj(), Options{Next: next})
				require.NotNil(t, d.Failure, "keep %t, next %d, round %d", keep, next, round)
				require.EqualError(t, d.Failure.Err, `running "Meter" filter plugin: the meter is broken`, "keep %t, next %d, round %d", keep, next, round)
			}
		}
	}
}
