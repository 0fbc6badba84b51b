package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// Counts of kinds that a change of nodes ended are memory for kinds after them, but not those behind an answer: the attempt of a pod that failed says
// what it said, whatever other pods ask for after a node has left.
func TestAnswersKeepTheirCounts(t *testing.T) {
	var o cluster.Objects
	for k := range 4 {
		node := fmt.Sprint("n", k)
		o.Nodes = append(o.Nodes, testkit.Node(node).Capacity("cpu=8,pods=99").Zone(fmt.Sprint("z", k%2)).Obj())
		o.Pods = append(o.Pods, apartFromItself(node, "full").On(node).Obj())
	}
	p, s := planOf(t, o)
	other := func(app string) *v1.Pod { return apartFromItself(app, app).Obj() }
	for _, app := range []string{"a", "b", "a", "b"} { // kinds whose memory is free after the change
		require.True(t, p.Decide(other(app), Options{}).Placed())
	}
	var failed *Attempt
	for range 2 {
		d := p.Decide(apartFromItself("x", "full").Obj(), Options{})
		require.False(t, d.Placed())
		failed = p.Failed(d.Failure)
	}
	verdicts := func() (out []resources.Verdict) {
		for i := range 3 {
			out = append(out, failed.Predicates.First(i).Verdict)
		}
		return out
	}
	before := verdicts()
	require.NotContains(t, before, resources.Verdict(0))
	require.NoError(t, s.Remove(s.Node(3)))
	for _, app := range []string{"c", "d", "e", "f", "c", "d", "e", "f"} {
		require.True(t, p.Decide(other(app), Options{}).Placed())
		require.Equal(t, before, verdicts(), app)
	}
}

// apartFromItself is a pod that runs on no node with another pod of its app.
func apartFromItself(name, app string) testkit.PodBuilder {
	return testkit.Pod(name).Labels("app="+app).Request("cpu=1").RequireApart(v1.LabelHostname, "app="+app)
}
