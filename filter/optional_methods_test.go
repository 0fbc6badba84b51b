package filter

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// Counting nodes in groups gives the same histogram as counting them one by one.
func TestHistogramOfGroups(t *testing.T) {
	v := []resources.Verdict{1, 2, 0, 1, 3 | resources.Unresolvable, 1}
	ps := Predicates{fixed{"A", v, nil}}
	var whole, grouped Histogram
	for i := range v {
		whole.Add(ps, ps.First(i), i, 1)
	}
	require.Equal(t, []Count{{"A 1", 3}, {"A 2", 1}, {"A 3", 1}}, whole.Counts(ps))
	for i, n := range map[int]int{0: 3, 1: 1, 4: 1, 2: 7} {
		grouped.Add(ps, ps.First(i), i, n)
	}
	require.Equal(t, whole.Counts(ps), grouped.Counts(ps))
	require.Equal(t, 5, grouped.Nodes())

	many := compileFit(pod("p", "example.com/a", "1"), FitOptions{})
	for k := range 14 {
		many.requests = append(many.requests, fitRequest{resource: v1.ResourceName(string(rune('a' + k))), value: 1, reason: string(rune('a' + k))})
	}
	partial := Predicates{many.On(newWorld(node("n", "pods", "1")))}
	var a Histogram
	a.Add(partial, partial.First(0), 0, 2)
	a.Add(partial, partial.First(0), 0, 3)
	require.Equal(t, Count{"n", 5}, a.Counts(partial)[14])
	require.Equal(t, []string{"NodeResourcesFit"}, a.Rejecters(partial))
}

// A count of no nodes leaves no trace.
func TestHistogramOfNoNodes(t *testing.T) {
	ps := Predicates{fixed{"A", []resources.Verdict{1}, nil}}
	var h Histogram
	for _, n := range []int{0, -1} {
		h.Add(ps, ps.First(0), 0, n)
	}
	h.Add(ps, Rejection{}, 0, 1)
	require.Zero(t, h.Nodes())
	require.Empty(t, h.Counts(ps))
	require.Empty(t, h.Rejecters(ps))
}

// knowing is a world with the optional methods PodRequests and PortPods.
type knowing struct{ *world }

func (k knowing) PodRequests(p *v1.Pod) (resources.Vector, bool) {
	if p.Name == "unknown" {
		return nil, false
	}
	return overhead.AppendRequests(nil, k.schema, p, overhead.Options{UseStatus: true}), true
}

func (k knowing) PortPods(i int) []*v1.Pod { return k.pods[i] }

// The optional methods of a cluster change no answer.
func TestOptionalMethodsChangeNothing(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	sidecar := pod("sidecar", "cpu", "1")
	sidecar.Spec.InitContainers = []v1.Container{{Name: "s", RestartPolicy: &always, Ports: []v1.ContainerPort{port("", "", 80), port("", "", 0)}}}
	w := newWorld(node("n", "cpu", "4", "example.com/x", "2", "pods", "9")).put(0, sidecar, pod("unknown", "cpu", "2")).resolve()
	p := withPorts(pod("p", "cpu", "2", "example.com/x", "1"), port("127.0.0.1", "", 80))
	slow, fast := CompileFit(p, FitOptions{}).On(w), CompileFit(p, FitOptions{}).On(knowing{w})
	st, ft := slow.NewTrial(), fast.NewTrial()
	for _, q := range append([]*v1.Pod{pod("new", "example.com/x", "2")}, w.pods[0]...) {
		require.Equal(t, st.Check(0), ft.Check(0))
		st.Remove(q, 0)
		ft.Remove(q, 0)
	}
	require.Equal(t, st.Check(0), ft.Check(0))
	st.Reset()
	ft.Reset()
	for _, q := range append([]*v1.Pod{pod("new", "cpu", "1", "example.com/x", "1")}, w.pods[0]...) {
		row := overhead.AppendRequests(nil, w.schema, q, overhead.Options{UseStatus: true})
		st.Add(q, 0)
		ft.(*fitTrial).Apply(row, 0, 1)
		require.Equal(t, st.Check(0), ft.Check(0), "a row at hand says the same as its pod")
		st.Remove(q, 0)
		ft.(*fitTrial).Apply(row, 0, -1)
		require.Equal(t, st.Check(0), ft.Check(0))
		require.Equal(t, slow.Check(0), ft.Check(0))
	}
	e := compilePorts(p)
	require.Equal(t, []hostPort{{IP: "127.0.0.1", Protocol: "TCP", Port: 80}}, e.want)
	plain, offered := e.on(w), e.on(knowing{w})
	require.Equal(t, plain.taken, offered.taken)
	require.Equal(t, portsTaken, offered.Check(0))
	require.Equal(t, plain.Explain(0), offered.Explain(0))
	trial := offered.NewTrial()
	trial.Remove(sidecar, 0)
	require.Zero(t, trial.Check(0))
}

func TestSaturation(t *testing.T) {
	huge := pod("huge", "memory", "9223372036854775807")
	w := newWorld(node("n", "memory", "9223372036854775807", "pods", "9")).put(0, huge, huge).resolve()
	require.NotZero(t, CompileFit(pod("p", "memory", "1"), FitOptions{}).On(w).Check(0), "two such pods do not wrap around")
}

func TestNoReasonsForZero(t *testing.T) {
	p := pod("p")
	p.Spec.HostNetwork, p.Spec.HostUsers = true, ptr(false)
	for _, q := range all(newRows(3), p) {
		require.Empty(t, q.Reasons(0), q.Name())
	}
}
