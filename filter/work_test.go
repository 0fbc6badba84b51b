package filter

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// lists is a cluster with the optional methods. Nobody has to read its pods one by one.
type lists struct {
	knowing
	t     *testing.T
	asked *int
}

func (l lists) PodRequests(p *v1.Pod) (resources.Vector, bool) {
	*l.asked++
	return l.knowing.PodRequests(p)
}

func (l lists) Pods(int) iter.Seq[*v1.Pod] {
	l.t.Error("the pods with ports are known")
	return l.knowing.Pods(0)
}

// What a cluster offers with optional methods is used.
func TestOptionalMethodsAreUsed(t *testing.T) {
	asked := 0
	w := newWorld(node("n", "cpu", "4", "pods", "9")).put(0, withPorts(pod("a"), port("", "", 80))).resolve()
	c := lists{knowing{w}, t, &asked}
	CompileFit(pod("p", "cpu", "2"), FitOptions{}).On(c).NewTrial().Add(pod("q", "cpu", "1"), 0)
	require.Equal(t, 1, asked)
	require.Len(t, compilePorts(withPorts(pod("p"), port("", "", 80))).on(c).Explain(0), 1)
}

// The plugins that rejected nodes come in the order of the list, each once, whichever rejected first.
func TestRejectersInOrder(t *testing.T) {
	ps := Predicates{fixed{"A", []resources.Verdict{0}, nil}, fixed{"B", []resources.Verdict{0}, nil}}
	var h Histogram
	for _, r := range []Rejection{{1, 1}, {0, 1}, {1, 2}} {
		h.Add(ps, r, 0, 1)
	}
	require.Equal(t, []string{"A", "B"}, h.Rejecters(ps))
	require.Equal(t, Rejection{1, 2}, h.counts[h.last].r, "the next node is often rejected as the last")
}

// A node that a plugin names twice is one node, and a plugin without a name is none.
func TestNarrowedNodes(t *testing.T) {
	var f PreFilters
	require.False(t, f.Add(PreFilterResult{Plugin: "A", Nodes: []string{"n2", "n1", "n2"}}))
	require.Equal(t, []string{"n1", "n2"}, f.Nodes)
	require.Equal(t, []string{"node(s) didn't satisfy plugin(s) [A]"}, f.LeftOut("", "A"))
}

// What a caller left in a trial does not count.
func TestTwoPassBeginsAnew(t *testing.T) {
	a := &counting{}
	a.Add(pod("left"), 0)
	require.Zero(t, Predicates{fixed{"A", []resources.Verdict{0}, nil}}.TwoPass([]Trial{a}, 0, nil, nil).Verdict)
	require.Equal(t, []int{0}, a.passes)
}
