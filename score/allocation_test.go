package score_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/score"
)

const foo = "intel.com/foo"

// packing is the bin packing example of the documentation: a pod that requests foo 2, 256MB and 2 cpu, and two nodes.
func packing() (*v1.Pod, *rows) {
	r := newRows(node("n1", foo+"=4,memory=1024M,cpu=8"), node("n2", foo+"=8,memory=1024M,cpu=8"))
	r.run(0, pod(foo+"=1,memory=256M,cpu=1"))
	r.run(1, pod(foo+"=2,memory=512M,cpu=6"))
	return pod(foo + "=2,memory=256M,cpu=2"), r
}

var seedWeights = weighted(foo, 5, "memory", 1, "cpu", 3)

func ratio(resources []score.Resource, shape ...int32) score.Strategy {
	return score.Strategy{Type: score.RequestedToCapacityRatio, Resources: resources, RequestedToCapacityRatio: &score.Ratio{Shape: points(shape...)}}
}

func TestAllocation(t *testing.T) {
	least := score.Strategy{Type: score.LeastAllocated}
	most := score.Strategy{Type: score.MostAllocated}
	only := func(s score.Strategy, name string) score.Strategy {
		s.Resources = weighted(name, 1)
		return s
	}
	weigh := func(s score.Strategy, list []score.Resource) score.Strategy {
		s.Resources = list
		return s
	}
	standard := func() *rows { return newRows(node("n", "cpu=4,memory=10000Mi")) }
	logged := func() *rows { return newRows(node("n", "cpu=47800m,memory=66054406144")) }
	seedPod, seedRows := packing()
	noFoo := pod("memory=256M,cpu=2")

	type test struct {
		name string
		why  string
		pod  *v1.Pod
		s    score.Strategy
		rows *rows
		want []int64
	}
	testkit.Run(t, []test{
		{"log line 86 of the first node", "cpu 83, memory 89", pod("cpu=7850m,memory=6786383872"), least, logged(), []int64{86}},
		{"log line 86 of the second node", "cpu 85, memory 88", pod("cpu=6950m,memory=7627341824"), least, logged(), []int64{86}},
		{"a score of 1 counts", "cpu 1, memory 3", pod("cpu=1,memory=30Mi"), ratio(weighted("cpu", 1, "memory", 1), 0, 0, 100, 10),
			newRows(node("n", "cpu=100,memory=1000Mi")), []int64{2}},
		{"half of the largest amount", "100 times the request does not fit an int64", pod("memory=4611686018427387904"), ratio(weighted("memory", 1), 0, 0, 100, 10),
			newRows(node("n", "memory=9223372036854775807")), []int64{50}},
		{"half of the largest amount, packed", "as before, for memory", pod("memory=4611686018427387904"), only(most, "memory"), newRows(node("n", "memory=9223372036854775807")), []int64{50}},
		{"half of the largest amount of another resource", "as before", pod("ephemeral-storage=4611686018427387904"), only(most, "ephemeral-storage"), newRows(node("n", "ephemeral-storage=9223372036854775807")), []int64{50}},
		{"best effort", "100m and 200Mi stand in", pod(""), least, standard(), []int64{97}},
		{"two containers and an init container without requests", "the defaults of two: 95, 96", withContainers(pod(""), 1, 1), least, standard(), []int64{95}},
		{"explicit zero beside defaults", "0 cpu stays 0: used 200, requested 300", pod(""), only(least, "cpu"),
			standard().run(0, pod("")).run(0, pod("")).run(0, pod("cpu=0")), []int64{92}},
		{"over capacity least", "cpu 0, memory 89", pod("cpu=5,memory=1Gi"), least, standard(), []int64{44}},
		{"no cpu in allocatable", "memory alone", pod(""), least, newRows(node("n", "memory=10000Mi")), []int64{98}},
		{"nothing allocatable", "no weight: 0", pod(""), least, newRows(node("n", "pods=1")), []int64{0}},
		{"free slot", "a free slot has no rows", pod(""), least, newRows(nil), []int64{0}},
		{"overhead on best effort", "1 cpu on top of 100m", withOverhead(pod(""), "cpu=1"), only(least, "cpu"), standard(), []int64{72}},
		{"pod level resources are ignored", "v1.36 quirk: 100m and 200Mi count, not 2 and 5000Mi", withPodLevel(pod(""), "cpu=2,memory=5000Mi"), least, standard(), []int64{97}},
		{"node without the device", "judged by cpu and memory only", seedPod, weigh(least, seedWeights), newRows(node("n3", "memory=1024M,cpu=8")), []int64{75}},
		{"ephemeral storage counts unrequested", "it is not scalar", pod(""), only(least, "ephemeral-storage"), newRows(node("n", "ephemeral-storage=10Gi")), []int64{100}},
		{"names that match nothing", "the oldest document's CPU and Memory: 0 everywhere", pod("cpu=1"), weigh(least, weighted("CPU", 1, "Memory", 1, "pods", 1, "foo", 1)), standard(), []int64{0}},
		{"a resource named twice counts twice", "97, 97 and 98 over 3", pod(""), weigh(least, weighted("cpu", 1, "cpu", 1, "memory", 1)), standard(), []int64{97}},

		{"most allocated bin packing", "foo 5, memory 1, cpu 3", seedPod, weigh(most, seedWeights), seedRows, []int64{59, 69}},
		{"over capacity most", "cpu is cut at 100, memory 10", pod("cpu=5,memory=1Gi"), most, standard(), []int64{55}},
		{"hugepages requested", "1Gi of 4Gi", pod("hugepages-1Gi=1Gi"), only(most, "hugepages-1Gi"), newRows(node("n", "hugepages-1Gi=4Gi")), []int64{25}},
		{"hugepages not requested", "nothing left to average", pod("cpu=1"), only(most, "hugepages-1Gi"), newRows(node("n", "hugepages-1Gi=4Gi")), []int64{0}},
		{"rise in between", "foo 3 of 4, bar 1 of 4, weights 3 and 3 of the documentation's most allocated configuration", pod(foo + "=3,intel.com/bar=1,cpu=1,memory=1Gi"),
			weigh(most, weighted("cpu", 1, "memory", 1, foo, 3, "intel.com/bar", 3)), newRows(node("n", foo+"=4,intel.com/bar=4,cpu=2,memory=2Gi")), []int64{50}},

		{"bin packing in v1.36", "75 50 37 and 50 75 100", seedPod, ratio(seedWeights, 0, 0, 100, 10), seedRows, []int64{60, 69}},
		{"bin packing reversed", "cpu of n2 is 0 and drops out of the average", seedPod, ratio(seedWeights, 0, 10, 100, 0), seedRows, []int64{40, 46}},
		{"bin packing without foo", "a scalar that the pod does not ask for is left out", noFoo, ratio(seedWeights, 0, 0, 100, 10), seedRows, []int64{40, 94}},
		{"ratio drops zero scores", "0 and 50 with equal weights are 50, not 25", pod("cpu=0,memory=5000Mi"), ratio(nil, 0, 0, 100, 10), standard(), []int64{50}},
		{"ratio reversed over capacity", "cpu 0 is dropped, memory 10 percent", pod("cpu=5,memory=1000Mi"), ratio(nil, 0, 10, 100, 0), standard(), []int64{90}},
		{"ratio without any score", "all zero", pod("cpu=5,memory=20000Mi"), ratio(nil, 0, 10, 100, 0), standard(), []int64{0}},
		{"one point is a constant", "both ends of the shape are the same point", pod("cpu=1"), ratio(nil, 50, 3), standard(), []int64{30}},
	}, func(t *testing.T, tc test) {
		s := fit(t, tc.pod, tc.s, tc.rows)
		require.Equal(t, tc.want, raws(tc.rows.Len(), s.Raw))
	})
}

func TestAllocationDefault(t *testing.T) {
	e, err := score.CompileAllocation(pod(""), score.FitArgs{})
	require.NoError(t, err)
	require.Equal(t, int64(97), e.On(newRows(node("n", "cpu=4,memory=10000Mi"))).Raw(0), "the zero arguments are LeastAllocated over cpu and memory")

	e, err = score.CompileAllocation(nil, score.FitArgs{})
	require.NoError(t, err)
	require.Equal(t, int64(100), e.On(newRows(node("n", "cpu=4,memory=10000Mi"))).Raw(0), "nil is an empty pod")
}

func TestAllocationExplain(t *testing.T) {
	p, r := packing()
	s := fit(t, p, ratio(seedWeights, 0, 0, 100, 10), r)
	require.Equal(t, []score.ResourceScore{
		{Name: foo, Weight: 5, Allocatable: 4, Requested: 3, Score: 75, Counted: true},
		{Name: "memory", Weight: 1, Allocatable: 1024e6, Requested: 512e6, Score: 50, Counted: true},
		{Name: "cpu", Weight: 3, Allocatable: 8000, Requested: 3000, Score: 37, Counted: true},
	}, s.Explain(0))
	logged := newRows(node("n", "cpu=47800m,memory=66054406144"))
	for _, tc := range []struct {
		requests    string
		cpu, memory int64
	}{{"cpu=7850m,memory=6786383872", 83, 89}, {"cpu=6950m,memory=7627341824", 85, 88}} {
		parts := fit(t, pod(tc.requests), score.Strategy{Type: score.LeastAllocated}, logged).Explain(0)
		require.Equal(t, []int64{tc.cpu, tc.memory}, []int64{parts[0].Score, parts[1].Score})
	}

	absent := fit(t, p, ratio(seedWeights, 0, 10, 100, 0), r).Explain(1)
	require.False(t, absent[2].Counted, "a score of 0 is left out of the average of a ratio")
}

// A resource that only later nodes have is found, although the schema did not have it at On.
func TestAllocationNewColumn(t *testing.T) {
	r := newRows(node("n1", "cpu=4"))
	s := fit(t, pod(foo+"=1"), score.Strategy{Type: score.MostAllocated, Resources: weighted(foo, 1)}, r)
	require.Equal(t, int64(0), s.Raw(0))
	late := newRows(node("n2", "intel.com/bar=7,"+foo+"=4"))
	r.schema.Intern("intel.com/bar")
	r.schema.Intern(foo)
	r.alloc[0] = late.alloc[0]
	require.Equal(t, int64(25), s.Raw(0))
}

func TestDevices(t *testing.T) {
	r := newRows(node("n1", "cpu=4"), node("n2", foo+"=2"))
	d := deviceRows{r, func(name v1.ResourceName, i int) (int64, int64) {
		require.Equal(t, v1.ResourceName(foo), name)
		return 4, 1
	}}
	s := fit(t, pod(foo+"=1,hugepages-2Mi=2Mi"), score.Strategy{Type: score.MostAllocated, Resources: weighted(foo, 1, "hugepages-2Mi", 1)}, d)
	require.Equal(t, []int64{50, 50}, raws(2, s.Raw), "2 of 4 devices; 1 of the 2 that allocatable names")

	const implicit = "deviceclass.resource.kubernetes.io/gpu"
	d.devices = func(name v1.ResourceName, i int) (int64, int64) {
		require.Equal(t, v1.ResourceName(implicit), name)
		return 4, 1
	}
	s = fit(t, pod(implicit+"=1"), score.Strategy{Type: score.MostAllocated, Resources: weighted(implicit, 1)}, d)
	require.Equal(t, []int64{50, 50}, raws(2, s.Raw), "the name of a class")
}

// The least score of a shape counts, and no score does not.
func TestExplainedParts(t *testing.T) {
	r := newRows(node("n", "cpu=100,memory=1000Mi"))
	for request, counted := range map[string]bool{"cpu=1,memory=10Mi": true, "cpu=990m,memory=10Mi": false} {
		parts := fit(t, pod(request), ratio(weighted("cpu", 1), 0, 0, 100, 10), r).Explain(0)
		require.Len(t, parts, 1)
		require.Equal(t, counted, parts[0].Counted, request)
	}
}
