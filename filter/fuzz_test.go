package filter

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// bytes has the choices of this package.
type bytes struct{ *testkit.Bytes }

var fuzzNames = []v1.ResourceName{"cpu", "memory", "ephemeral-storage", "example.com/a", "example.com/b", "sub.example.com/c", "hugepages-2Mi", "kubernetes.io/x", "foo", "pods"}
var fuzzAmounts = []string{"0", "1", "2", "1500m", "3", "9223372036854775807", "4Ei", "1u"}

func (b *bytes) amounts() v1.ResourceList {
	l := v1.ResourceList{}
	for range b.Below(6) {
		l[fuzzNames[b.Below(len(fuzzNames))]] = resource.MustParse(fuzzAmounts[b.Below(len(fuzzAmounts))])
	}
	return l
}

func (b *bytes) pod(name string) *v1.Pod {
	p := pod(name)
	p.Spec.Containers[0].Resources.Requests = b.amounts()
	ips := []string{"", "0.0.0.0", "127.0.0.1", "::", "10.0.0.1"}
	for range b.Below(3) {
		withPorts(p, port(ips[b.Below(5)], []v1.Protocol{"", "TCP", "UDP"}[b.Below(3)], int32(b.Below(3))))
	}
	return p
}

func (b *bytes) world() *world {
	w := newWorld()
	for i := range 1 + b.Below(3) {
		n := node(fmt.Sprint("n", i))
		n.Status.Allocatable = b.amounts()
		if b.Below(4) > 0 {
			n.Status.Allocatable["pods"] = *resource.NewQuantity(int64(b.Below(5)), resource.DecimalSI)
		}
		w.nodes, w.pods = append(w.nodes, n), append(w.pods, nil)
		for k := range b.Below(3) {
			w.put(i, b.pod(fmt.Sprintf("r%d-%d", i, k)))
		}
	}
	return w.resolve()
}

func (b *bytes) options() FitOptions {
	var o FitOptions
	for _, name := range fuzzNames {
		if b.Below(5) == 4 {
			o.IgnoredResources = append(o.IgnoredResources, string(name))
		}
	}
	if b.Below(4) == 3 {
		o.IgnoredResourceGroups = []string{[]string{"example.com", "kubernetes.io"}[b.Below(2)]}
	}
	if b.Below(4) == 3 {
		o.DeviceResources = []string{"example.com/a"}
	}
	return o
}

// slowFit is the rule of NodeResourcesFit over resource lists, sentence by sentence.
func slowFit(p *v1.Pod, n *v1.Node, running []*v1.Pod, o FitOptions) []string {
	var out []string
	add := func(name v1.ResourceName, reason string, unresolvable bool) {
		out = append(out, fmt.Sprint(name, " ", reason, " ", unresolvable))
	}
	value := func(name v1.ResourceName) int64 {
		return resources.Value(name, overhead.Requests(p, overhead.Options{})[name])
	}
	capacity := func(name v1.ResourceName) int64 { return resources.Value(name, n.Status.Allocatable[name]) }
	used := func(name v1.ResourceName) int64 {
		sum := int64(0)
		for _, q := range running {
			sum = resources.Add(sum, resources.Value(name, overhead.Requests(q, overhead.Options{UseStatus: true})[name]))
		}
		return sum
	}
	if int64(len(running))+1 > capacity("pods") {
		add("pods", "Too many pods", false)
	}
	for _, name := range []v1.ResourceName{"cpu", "memory", "ephemeral-storage"} {
		if v := value(name); v > 0 && v > capacity(name)-used(name) {
			add(name, "Insufficient "+string(name), v > capacity(name))
		}
	}
	var scalars []v1.ResourceName
	for name := range overhead.Requests(p, overhead.Options{}) {
		if resources.IsScalar(name) {
			scalars = append(scalars, name)
		}
	}
	slices.Sort(scalars)
	for _, name := range scalars {
		v := value(name)
		if v == 0 {
			continue
		}
		if resources.IsExtended(name) && (slices.Contains(o.IgnoredResources, string(name)) ||
			slices.Contains(o.IgnoredResourceGroups, strings.Split(string(name), "/")[0])) {
			continue
		}
		if capacity(name) == 0 && slices.Contains(o.DeviceResources, string(name)) {
			continue
		}
		if v > capacity(name)-used(name) {
			add(name, "Insufficient "+string(name), v > capacity(name))
		}
	}
	return out
}

func describe(list []Insufficient) []string {
	var out []string
	for _, x := range list {
		out = append(out, fmt.Sprint(x.Resource, " ", x.Reason, " ", x.Unresolvable))
	}
	return out
}

// checkWorld compares every form of the resource and port filters with the slow rules, and checks the laws.
func checkWorld(t *testing.T, data []byte) {
	b := &bytes{testkit.NewBytes(data)}
	w, p, o := b.world(), b.pod("p"), b.options()
	fit, ports := CompileFit(p, o).On(w), CompilePorts(p).On(w)
	ps := Predicates{fit, ports}
	var h Histogram
	recount := map[string]int{}
	for i := range w.nodes {
		slow := slowFit(p, w.nodes[i], w.pods[i], o)
		require.Equal(t, slow, describe(fit.Explain(i)))
		require.Equal(t, slow, describe(Lacks(p, w.nodes[i], w.pods[i], o)))
		require.Equal(t, len(slow) > 0, fit.Check(i) != 0)
		require.Equal(t, strings.Contains(strings.Join(slow, ";"), "true"), fit.Check(i)&resources.Unresolvable != 0)
		require.Equal(t, fit.ReasonsAt(i), fit.Reasons(fit.Check(i)))
		conflict := false
		for _, q := range w.pods[i] {
			for _, a := range podinfo.AppendHostPorts(nil, p) {
				for _, u := range podinfo.AppendHostPorts(nil, q) {
					same := a.Port == u.Port && a.Protocol == u.Protocol
					conflict = conflict || same && (a.IP == "0.0.0.0" || u.IP == "0.0.0.0" || a.IP == u.IP)
				}
			}
		}
		require.Equal(t, conflict, ports.Check(i) != 0)

		r := ps.First(i)
		h.Add(ps, r, i, 1)
		for _, reason := range ps.Reasons(r, i) {
			recount[reason]++
		}
	}
	got := map[string]int{}
	for _, c := range h.Counts(ps) {
		got[c.Reason] = c.Nodes
	}
	require.Equal(t, recount, got, "the histogram equals a recount")
	checkLaws(t, w, p, o, b)
}

// checkLaws: more capacity never rejects; removing a pod never makes resources or ports reject; a trial returns to where it was.
func checkLaws(t *testing.T, w *world, p *v1.Pod, o FitOptions, b *bytes) {
	i := b.Below(len(w.nodes))
	fit, ports := CompileFit(p, o).On(w), CompilePorts(p).On(w)
	before := fit.Check(i)
	if len(o.DeviceResources) == 0 { // a node that begins to offer a device resource is checked where it was not
		grown := w.nodes[i].DeepCopy()
		for _, name := range fuzzNames {
			q := grown.Status.Allocatable[name]
			q.Add(resource.MustParse(fuzzAmounts[b.Below(4)]))
			grown.Status.Allocatable[name] = q
		}
		bigger := newWorld(grown).put(0, w.pods[i]...).resolve()
		require.Zero(t, CompileFit(p, o).On(bigger).Check(0)&^before, "more capacity adds no reason")
	}
	if len(w.pods[i]) == 0 {
		return
	}
	gone := w.pods[i][b.Below(len(w.pods[i]))]
	less := newWorld(w.nodes[i])
	for _, q := range w.pods[i] {
		if q != gone {
			less.put(0, q)
		}
	}
	less.resolve()
	require.Zero(t, CompileFit(p, o).On(less).Check(0)&^before, "a pod less adds no reason")
	fresh := CompilePorts(p).On(less)
	if ports.Check(i) == 0 {
		require.Zero(t, fresh.Check(0))
	}

	tr := fit.NewTrial()
	tr.Add(gone, i)
	tr.Remove(gone, i)
	if !saturated(w, i) {
		require.Equal(t, before, tr.Check(i))
		tr.Remove(gone, i)
		require.Equal(t, CompileFit(p, o).On(less).Check(0), tr.Check(i), "a trial without the pod equals a count without it")
	}
	tr.Reset()
	require.Equal(t, before, tr.Check(i))
}

// saturated reports whether a sum on slot i reached an end of int64. A subtraction from such a sum is not exact.
func saturated(w *world, i int) bool {
	for _, n := range w.Requested(i) {
		if n >= 1<<62 {
			return true
		}
	}
	return false
}

func FuzzFilters(f *testing.F) {
	f.Add([]byte("the quick brown fox jumps over the lazy dog"))
	f.Fuzz(func(t *testing.T, data []byte) { checkWorld(t, data) })
}

func TestFiltersAgainstSlowRules(t *testing.T) {
	for seed := range int64(3000) {
		checkWorld(t, testkit.RandomBytes(uint64(seed), 40+int(seed*37%160)))
	}
}

func TestPurity(t *testing.T) {
	for seed := range int64(50) {
		rng := rand.New(rand.NewSource(seed))
		data := make([]byte, 200)
		rng.Read(data)
		b := &bytes{testkit.NewBytes(data)}
		w, p := b.world(), b.pod("p")
		pods := append(slices.Concat(w.pods...), p)
		call := func() {
			testkit.Unchanged(t, func() {
				fit, ports := CompileFit(p, FitOptions{}).On(w), CompilePorts(p).On(w)
				for i := range w.nodes {
					fit.Explain(i)
					ports.Explain(i)
					tr, pt := fit.NewTrial(), ports.NewTrial()
					for _, q := range w.pods[i] {
						tr.Remove(q, i)
						pt.Remove(q, i)
					}
					if _, err := FitHint(FitOptions{})(p, nil, w.nodes[i]); err != nil {
						t.Fatal(err)
					}
				}
			}, pods...)
		}
		testkit.Unchanged(t, call, w.nodes...)
	}
}
