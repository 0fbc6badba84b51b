package filter

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

type fitCase struct {
	name, why string
	node      *v1.Node
	running   []*v1.Pod
	pod       *v1.Pod
	options   FitOptions
	code      Code
	reasons   []string
}

// check compares the column form, the one-call form and the trial form.
func (c fitCase) check(t *testing.T) {
	t.Helper()
	w := newWorld(c.node).put(0, c.running...).resolve()
	s := CompileFit(c.pod, c.options).On(w)
	ps := Predicates{s}
	r := ps.First(0)
	require.Equal(t, c.code, ps.Code(r), "code")
	require.Equal(t, c.reasons, ps.Reasons(r, 0), "reasons")
	var texts []string
	unresolvable := false
	for _, x := range Lacks(c.pod, c.node, c.running, c.options) {
		texts = append(texts, x.Reason)
		unresolvable = unresolvable || x.Unresolvable
	}
	require.Equal(t, c.reasons, texts, "one call")
	require.Equal(t, c.code == UnschedulableAndUnresolvable, unresolvable)

	empty := newWorld(c.node).resolve()
	empty.schema = w.schema
	tr := CompileFit(c.pod, c.options).On(empty).NewTrial()
	for _, p := range c.running {
		tr.Add(p, 0)
	}
	require.Equal(t, s.Check(0), tr.Check(0), "a trial with the pods added")
	for _, p := range c.running {
		tr.Remove(p, 0)
	}
	require.Equal(t, CompileFit(c.pod, c.options).On(empty).Check(0), tr.Check(0), "and removed again")
}

func TestFit(t *testing.T) {
	big := node("n", "cpu", "4", "memory", "4Gi", "ephemeral-storage", "10Gi", "pods", "2", "example.com/gpu", "2")
	other := pod("other", "cpu", "3", "memory", "3Gi", "example.com/gpu", "1")
	busy := []*v1.Pod{other}
	overheadPod := pod("p", "cpu", "1")
	overheadPod.Spec.Overhead = list("cpu", "250m")
	podLevel := pod("p", "cpu", "1")
	podLevel.Spec.Resources = &v1.ResourceRequirements{Requests: list("cpu", "5")}
	resized := func(name string) *v1.Pod { // from 2 cpu down to 1
		p := pod(name, "cpu", "1")
		p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", Resources: &v1.ResourceRequirements{Requests: list("cpu", "2")}}}
		return p
	}
	testkit.Run(t, []fitCase{
		{"a running pod is being resized", "what its containers hold counts until the resize is done", node("n", "cpu", "3", "pods", "9"), []*v1.Pod{resized("a")},
			pod("p", "cpu", "2"), FitOptions{}, Unschedulable, []string{"Insufficient cpu"}},
		{"the pod itself has an old status", "it asks for what its spec says", node("n", "cpu", "1", "pods", "9"), nil, resized("p"), FitOptions{}, Success, nil},
		{"fits exactly", "requested equal to what is free is enough", big, busy,
			pod("p", "cpu", "1", "memory", "1Gi", "ephemeral-storage", "10Gi", "example.com/gpu", "1"), FitOptions{}, Success, nil},
		{"short of three", "every lack is reported in order; each fits the empty node", big, busy,
			pod("p", "cpu", "2", "memory", "2Gi", "example.com/gpu", "2"), FitOptions{}, Unschedulable,
			[]string{"Insufficient cpu", "Insufficient memory", "Insufficient example.com/gpu"}},
		{"one unresolvable", "one request above allocatable makes the node unresolvable", big, busy,
			pod("p", "cpu", "5", "memory", "2Gi"), FitOptions{}, UnschedulableAndUnresolvable,
			[]string{"Insufficient cpu", "Insufficient memory"}},
		{"no requests on an overcommitted node", "what is not asked for never fails",
			node("n", "cpu", "1", "pods", "10"), busy, pod("p"), FitOptions{}, Success, nil},
		{"full of pods", "the number of pods counts without any request",
			node("n", "pods", "1"), []*v1.Pod{pod("a")}, pod("p"), FitOptions{}, Unschedulable, []string{"Too many pods"}},
		{"node without pods", "an absent limit is zero, and still not unresolvable",
			node("n", "cpu", "1"), nil, pod("p"), FitOptions{}, Unschedulable, []string{"Too many pods"}},
		{"full and too small", "Too many pods stands first; cpu makes it unresolvable",
			node("n", "pods", "1", "cpu", "1"), []*v1.Pod{pod("a")}, pod("p", "cpu", "9"), FitOptions{},
			UnschedulableAndUnresolvable, []string{"Too many pods", "Insufficient cpu"}},
		{"overhead counts", "1 core and 250m of overhead do not fit 1 core",
			node("n", "cpu", "1", "pods", "9"), nil, overheadPod, FitOptions{}, UnschedulableAndUnresolvable, []string{"Insufficient cpu"}},
		{"pod-level requests count", "spec.resources replaces the containers' sum", big, nil, podLevel, FitOptions{},
			UnschedulableAndUnresolvable, []string{"Insufficient cpu"}},
		{"absent extended resource", "absent is zero", node("n", "pods", "9"), nil, pod("p", "example.com/x", "1"), FitOptions{},
			UnschedulableAndUnresolvable, []string{"Insufficient example.com/x"}},
		{"zero of an absent resource", "a zero amount passes everywhere", node("n", "pods", "9"), nil,
			pod("p", "example.com/x", "0"), FitOptions{}, Success, nil},
		{"unknown names", "foo and pods are not resources of a pod", node("n", "pods", "9"), nil,
			pod("p", "foo", "5", "pods", "500"), FitOptions{}, Success, nil},
		{"ignored resource", "an extended resource by name", node("n", "pods", "9"), nil, pod("p", "example.com/x", "1"),
			FitOptions{IgnoredResources: []string{"example.com/x"}}, Success, nil},
		{"ignored group", "an extended resource by domain", node("n", "pods", "9"), nil, pod("p", "example.com/x", "1"),
			FitOptions{IgnoredResourceGroups: []string{"example.com"}}, Success, nil},
		{"group does not cover a subdomain", "the domain is compared whole", node("n", "pods", "9"), nil,
			pod("p", "sub.example.com/y", "1"), FitOptions{IgnoredResourceGroups: []string{"example.com"}},
			UnschedulableAndUnresolvable, []string{"Insufficient sub.example.com/y"}},
		{"only extended names are ignored", "cpu, huge pages and kubernetes.io names are still checked",
			node("n", "pods", "9"), nil, pod("p", "cpu", "1", "hugepages-2Mi", "2Mi", "kubernetes.io/x", "1"),
			FitOptions{IgnoredResources: []string{"cpu", "hugepages-2Mi", "kubernetes.io/x"}, IgnoredResourceGroups: []string{"kubernetes.io"}},
			UnschedulableAndUnresolvable, []string{"Insufficient cpu", "Insufficient hugepages-2Mi", "Insufficient kubernetes.io/x"}},
		{"left to a device class", "DynamicResources decides on a node without the resource", node("n", "pods", "9"), nil,
			pod("p", "example.com/x", "1"), FitOptions{DeviceResources: []string{"example.com/x"}}, Success, nil},
		{"device class with a device plugin", "a node that offers the resource itself is checked",
			node("n", "pods", "9", "example.com/x", "1"), nil, pod("p", "example.com/x", "2"),
			FitOptions{DeviceResources: []string{"example.com/x"}}, UnschedulableAndUnresolvable, []string{"Insufficient example.com/x"}},
		{"scalars by name", "others are reported in the order of their names", node("n", "pods", "9"), nil,
			pod("p", "example.com/b", "1", "example.com/a", "1", "hugepages-1Gi", "1Gi", "memory", "1", "ephemeral-storage", "1"), FitOptions{},
			UnschedulableAndUnresolvable, []string{"Insufficient memory", "Insufficient ephemeral-storage", "Insufficient example.com/a",
				"Insufficient example.com/b", "Insufficient hugepages-1Gi"}},
	}, func(t *testing.T, c fitCase) { c.check(t) })
}

func TestFitExplain(t *testing.T) {
	w := newWorld(node("n", "cpu", "4", "pods", "1")).put(0, pod("a", "cpu", "3")).resolve()
	require.Equal(t, []Insufficient{
		{"pods", "Too many pods", 1, 1, 1, false},
		{"cpu", "Insufficient cpu", 2000, 3000, 4000, false},
		{"memory", "Insufficient memory", 1, 0, 0, true},
	}, CompileFit(pod("p", "cpu", "2", "memory", "1"), FitOptions{}).On(w).Explain(0))
}

// The example of a document on the scheduling framework: init containers ask for (2, 1G) and (2, 3G), containers for
// (2, 1G) and (1, 1G). The pod needs 3 cores and 3G.
func TestInitContainerExample(t *testing.T) {
	p := pod("p", "cpu", "2", "memory", "1G")
	p.Spec.Containers = append(p.Spec.Containers, pod("x", "cpu", "1", "memory", "1G").Spec.Containers...)
	p.Spec.InitContainers = []v1.Container{
		pod("x", "cpu", "2", "memory", "1G").Spec.Containers[0], pod("x", "cpu", "2", "memory", "3G").Spec.Containers[0],
	}
	require.Empty(t, Lacks(p, node("n", "cpu", "3", "memory", "3G", "pods", "1"), nil, FitOptions{}))
	require.Equal(t, []Insufficient{
		{Resource: "cpu", Reason: "Insufficient cpu", Requested: 3000, Capacity: 2999, Unresolvable: true},
		{Resource: "memory", Reason: "Insufficient memory", Requested: 3_000_000_000, Capacity: 2_999_000_000, Unresolvable: true},
	}, Lacks(p, node("n", "cpu", "2999m", "memory", "2999M", "pods", "1"), nil, FitOptions{}))
}

// A pod with more than 13 requests has partial verdicts.
func TestFitManyResources(t *testing.T) {
	var pairs, want []string
	for k := range 20 {
		name := fmt.Sprintf("example.com/r%02d", k)
		pairs = append(pairs, name, "1")
		want = append(want, "Insufficient "+name)
	}
	w := newWorld(node("none", "pods", "9"), node("all", append(append([]string{}, pairs...), "pods", "9")...), node("first", append(append([]string{}, pairs[:28]...), "pods", "9")...))
	s := CompileFit(pod("p", pairs...), FitOptions{}).On(w.resolve())
	ps := Predicates{s}
	require.True(t, s.Partial(s.Check(0)))
	require.Equal(t, want, ps.Reasons(ps.First(0), 0))
	require.Equal(t, UnschedulableAndUnresolvable, ps.Code(ps.First(0)))
	require.Zero(t, s.Check(1))
	require.Equal(t, want[14:], ps.Reasons(ps.First(2), 2))

	// The first 13 requests have bits of their own, the later ones share one, which names none of them.
	w = newWorld(node("but-13th", append(slices.Delete(slices.Clone(pairs), 24, 26), "pods", "9")...), node("but-14th", append(slices.Delete(slices.Clone(pairs), 26, 28), "pods", "9")...))
	own := CompileFit(pod("p", pairs...), FitOptions{}).On(w.resolve())
	require.Equal(t, 1<<13|resources.Unresolvable, own.Check(0))
	require.Equal(t, want[12:13], own.Reasons(own.Check(0)))
	require.False(t, own.Partial(own.Check(0)))
	require.Equal(t, 1<<14|resources.Unresolvable, own.Check(1))
	require.Empty(t, own.Reasons(own.Check(1)))
	require.Equal(t, want[13:14], Predicates{own}.Reasons(Predicates{own}.First(1), 1))

	var h Histogram
	for i := range 3 {
		h.Add(ps, ps.First(i), i, 1)
	}
	require.Equal(t, 2, h.Nodes())
	counts := h.Counts(ps)
	require.Len(t, counts, 20)
	require.Equal(t, Count{want[0], 1}, counts[0])
	require.Equal(t, Count{want[19], 2}, counts[19])
}

func TestFitFreeSlot(t *testing.T) {
	s := CompileFit(pod("p", "cpu", "1"), FitOptions{}).On(newWorld(nil).resolve())
	require.NotZero(t, s.Check(0), "a free slot takes no pod and does not panic")
}

// While one container of a running pod goes from 2 cpu down to 1 and another from 1 up to 2, the pod holds the larger of both sums, 3 cpu.
// Until v1.36 it holds the sum of the larger amounts, 4 cpu (rules L4.1 to L4.3).
func TestHeldInEachRelease(t *testing.T) {
	crossed := pod("a", "cpu", "1")
	crossed.Spec.Containers = append(crossed.Spec.Containers, v1.Container{Name: "d", Resources: v1.ResourceRequirements{Requests: list("cpu", "2")}})
	for _, s := range [][2]string{{"c", "2"}, {"d", "1"}} {
		crossed.Status.ContainerStatuses = append(crossed.Status.ContainerStatuses, v1.ContainerStatus{Name: s[0], Resources: &v1.ResourceRequirements{Requests: list("cpu", s[1])}})
	}
	for v, want := range map[release.Version][]Insufficient{
		release.V1_37: nil,
		release.V1_36: {{Resource: "cpu", Requested: 1000, Used: 4000, Capacity: 4000, Reason: "Insufficient cpu"}},
	} {
		require.Equal(t, want, Lacks(pod("p", "cpu", "1"), node("n", "cpu", "4", "pods", "9"), []*v1.Pod{crossed}, FitOptions{Release: v}), v.String())
	}
}
