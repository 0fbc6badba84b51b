package reuse

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// The three tests of this file are those that docs/engine.md names: what happens to kept work after an event.

// warm returns an engine over six nodes that has decided three times about a pod of app a. A pod of that app runs on n0.
func warm(t *testing.T) (*Engine, *cluster.Snapshot, func(feasible int) string) {
	c := calls{}
	e, s, decide := simpleOf(t, 6, c)
	require.NoError(t, s.Set(testkit.Pod("r").Labels("app=a").Request("cpu=1").On("n0").Obj()))
	ask := func(feasible int) string {
		c.take()
		require.Equal(t, feasible, decide(simplePod("a", "1")).Feasible)
		asks := c.take()
		require.NoError(t, e.valid())
		return asks
	}
	for range 3 {
		ask(5)
	}
	require.Equal(t, "skips 1, skips again 1", ask(5), "from now on no plugin is asked")
	return e, s, ask
}

// things returns what an engine keeps, by key.
func things(e *Engine) [4]any {
	return [4]any{maps.Clone(e.statics), maps.Clone(e.rows), maps.Clone(e.layouts), maps.Clone(e.kinds)}
}

// When a pod is deleted, everything that is kept stays. The row of its node is asked about again, and the state counts one pod less, so that
// the node is no exception any more.
func TestPodIsDeleted(t *testing.T) {
	e, s, ask := warm(t)
	before := things(e)
	require.NoError(t, s.Remove(testkit.Pod("r").Labels("app=a").Request("cpu=1").On("n0").Obj()))
	require.Equal(t, "cpu check 1, set 1, skips 1, skips again 1", ask(6), "one row, and what the pods of that set do to the state")
	require.Equal(t, before, things(e))
	for _, x := range e.kinds {
		require.False(t, x.exceptions.has(0))
	}
}

// When a label changes that plugins with KeepByNode read, that node gets another class and another group. When no plugin reads the label,
// the node stays where it is. When a state counts by the label, everything is forgotten.
func TestLabelOfNodeChanges(t *testing.T) {
	e, s, ask := warm(t)
	before := things(e)
	relabel := func(key, value string) {
		n := s.Node(2).DeepCopy()
		n.Labels[key] = value
		require.NoError(t, s.Set(n))
	}
	relabel("new", "y")
	require.Equal(t, "cpu check 1, pool filter 1, skips 1, skips again 1", ask(5), "the node has the signature that it had")
	relabel("pool", "y")
	require.Equal(t, "cpu check 1, pool check 1, pool filter 1, skips 1, skips again 1", ask(4), "one node is asked about")
	require.Equal(t, before, things(e))
	relabel("rack", "s")
	require.Equal(t, "compile 1, count 1, cpu check 5, cpu filter 1, cpu score 1, open 1, pool check 2, pool filter 1, skips 1, skips again 1", ask(4), "a state reads racks")
	require.Empty(t, e.kinds)
	require.NotEqual(t, before, things(e))
}

// When the labels of a namespace change, everything is forgotten: the terms of any pod might select by them.
func TestNamespaceIsRelabelled(t *testing.T) {
	e, s, ask := warm(t)
	require.NoError(t, s.Set(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"team": "x"}}}))
	require.Equal(t, "compile 1, count 1, cpu check 6, cpu filter 1, cpu score 1, open 1, pool check 1, pool filter 1, skips 1, skips again 1", ask(5))
	require.Empty(t, e.kinds, "the pod is the first of its kind again")
	require.Len(t, e.statics, 1)
	require.Empty(t, e.rows)
}
