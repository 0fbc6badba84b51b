package filter

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

func withPriority(p *v1.Pod, n int32) *v1.Pod {
	p.Spec.Priority = &n
	return p
}

// counting is a trial that records how it is used.
type counting struct {
	added  []string
	passes []int // pods present at each check
	reject func(pods int) bool
}

func (c *counting) Check(int) resources.Verdict {
	c.passes = append(c.passes, len(c.added))
	if c.reject != nil && c.reject(len(c.added)) {
		return 1
	}
	return 0
}
func (c *counting) Add(p *v1.Pod, _ int)    { c.added = append(c.added, p.Name) }
func (c *counting) Remove(p *v1.Pod, _ int) {}
func (c *counting) Reset()                  { c.added = nil }

func TestNominated(t *testing.T) {
	p := withPriority(pod("p"), 5)
	lo, eq, hi := withPriority(pod("lo"), 1), withPriority(pod("eq"), 5), withPriority(pod("hi"), 9)
	require.Equal(t, []*v1.Pod{eq, hi}, Nominated(p, []*v1.Pod{lo, eq, p, hi}), "of at least its priority, and not itself")
	require.Empty(t, Nominated(p, []*v1.Pod{lo, p}))
	require.Equal(t, []*v1.Pod{lo}, Nominated(pod("none"), []*v1.Pod{lo}), "no priority is 0")
}

// A node with nominated pods of priority 1, 5 and 9, and a pod of priority 5, filters A and B.
func TestTwoPass(t *testing.T) {
	eq, hi := pod("eq"), pod("hi")
	ps := Predicates{fixed{"A", []resources.Verdict{0}, nil}, fixed{"B", []resources.Verdict{0}, nil}}
	run := func(a, b *counting, nominated ...*v1.Pod) Rejection {
		return ps.TwoPass([]Trial{a, b}, 0, nominated, nil)
	}
	a, b := &counting{}, &counting{}
	require.Zero(t, run(a, b, eq, hi).Verdict)
	require.Equal(t, []int{2, 0}, a.passes, "with both, then without")
	require.Equal(t, []int{2, 0}, b.passes)
	require.Empty(t, a.added, "nothing is left behind")

	a, b = &counting{reject: func(n int) bool { return n > 0 }}, &counting{}
	require.Equal(t, Rejection{0, 1}, run(a, b, eq, hi))
	require.Equal(t, []int{2}, a.passes, "one pass")
	require.Empty(t, b.passes)

	a = &counting{reject: func(n int) bool { return n == 0 }}
	require.Equal(t, Rejection{0, 1}, run(a, &counting{}, eq, hi))
	require.Equal(t, []int{2, 0}, a.passes, "a second pass")

	a = &counting{}
	require.Zero(t, run(a, &counting{}).Verdict)
	require.Equal(t, []int{0}, a.passes, "nobody nominated: a single pass")
	require.NotZero(t, Predicates{fixed{"A", []resources.Verdict{1}, nil}}.TwoPass(nil, 0, []*v1.Pod{eq}, nil).Verdict, "without a trial the predicate itself decides")
}

// Two passes with real predicates: a nominated pod keeps its room and its port, and victims are taken away in both passes.
func TestTwoPassWithRealTrials(t *testing.T) {
	w := newWorld(node("n", "cpu", "4", "pods", "10")).put(0, withPorts(pod("victim", "cpu", "4"), port("", "", 80))).resolve()
	p := withPorts(pod("p", "cpu", "2"), port("", "", 80))
	fit, ports := CompileFit(p, FitOptions{}).On(w), CompilePorts(p).On(w)
	ps := Predicates{ports, fit}
	trials := []Trial{ports.NewTrial(), fit.NewTrial()}
	evict := func() {
		for _, tr := range trials {
			tr.Remove(w.pods[0][0], 0)
		}
	}
	require.Equal(t, Rejection{0, portsTaken}, ps.TwoPass(trials, 0, nil, nil))
	require.Zero(t, ps.TwoPass(trials, 0, nil, evict).Verdict)
	require.Zero(t, ps.TwoPass(trials, 0, []*v1.Pod{pod("q", "cpu", "2")}, evict).Verdict)
	require.Equal(t, "NodeResourcesFit", ps[ps.TwoPass(trials, 0, []*v1.Pod{pod("q", "cpu", "3")}, evict).Predicate].Name())
	require.Equal(t, "NodePorts", ps[ps.TwoPass(trials, 0, []*v1.Pod{withPorts(pod("q"), port("", "", 80))}, evict).Predicate].Name())
	require.Equal(t, Rejection{0, portsTaken}, ps.TwoPass(trials, 0, nil, nil), "the eviction is forgotten")
}
