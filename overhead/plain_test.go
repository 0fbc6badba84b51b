package overhead

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/plainpod"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// plainPod makes a plain pod of the containers that the bytes describe.
func plainPod(seed uint64, amounts []string) *v1.Pod {
	d := &decoder{testkit.NewBytes(testkit.RandomBytes(seed, 200)), amounts}
	pod := &v1.Pod{}
	for range d.Below(4) {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: string(rune('a' + d.Below(4))), Resources: d.requirements()})
	}
	if d.Below(2) == 1 { // a status that says nothing of amounts
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "a"}}
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Reason: v1.PodReasonDeferred}}
	}
	return pod
}

// The short way for a plain pod gives the row and the amounts for scores that the general way gives, or it gives up. It does not give
// up when every amount is small and whole and the schema knows the names.
func TestPlainAgainstGeneral(t *testing.T) {
	whole := []string{"0", "1", "2", "1500", "7", "-1"}
	edges := []string{"9223372036854775807", "-9223372036854775808", "9223372036854775", "-9223372036854776", "1n", "500m", "1.5Gi", "10E"}
	short, general, pairs := 0, 0, 0
	for seed := range uint64(testkit.Rounds(2000)) {
		r := rand.New(rand.NewPCG(seed, 1))
		amounts, small := whole, seed%2 == 0
		if !small {
			amounts = append(edges, whole...)
		}
		pod := plainPod(seed, amounts)
		schema := new(resources.Schema)
		for _, name := range names {
			if resources.IsScalar(name) && (small || r.IntN(8) > 0) {
				schema.Intern(name)
			}
		}
		o := Options{UseStatus: seed%4 == 0, IgnorePodLevel: seed%5 == 0, Release: []release.Version{release.Current, release.V1_36, release.V1_35}[seed%3]}
		require.True(t, plain(pod, o))

		known := true
		for i := range pod.Spec.Containers {
			for name := range pod.Spec.Containers[i].Resources.Requests {
				_, has := schema.Column(name)
				known = known && has
			}
		}
		row := make(resources.Vector, schema.Len())
		cpu, memory, ok := plainpod.Add(row, schema, pod)
		if wantCPU, wantMemory := generalNonZero(pod, o, true, true); ok {
			require.Equal(t, [2]int64{wantCPU, wantMemory}, [2]int64{cpu, memory}, "seed %d", seed)
			short++
			want := make(resources.Vector, schema.Len())
			generalRequests(pod, o, schema, func(name v1.ResourceName, value int64) {
				c, ok := schema.Column(name)
				require.True(t, ok, "%s", name)
				want[c] = value
			})
			require.Equal(t, want, row, "seed %d", seed)
			require.Equal(t, want, AppendRequests(nil, schema, pod, o))
		} else {
			general++
			require.False(t, small && known, "seed %d: gave up", seed)
		}
		type request struct {
			name  v1.ResourceName
			value int64
		}
		var got, want []request
		eachRequest(pod, o, schema, func(name v1.ResourceName, value int64) { got = append(got, request{name, value}) })
		generalRequests(pod, o, schema, func(name v1.ResourceName, value int64) { want = append(want, request{name, value}) })
		require.Equal(t, want, got, "seed %d", seed)
		if _, ok := plainpod.PairOf(pod); ok {
			pairs++
		}

		cpu, memory, ok = plainpod.Add(nil, nil, pod)
		if wantCPU, wantMemory := generalNonZero(pod, o, true, true); ok {
			require.Equal(t, [2]int64{wantCPU, wantMemory}, [2]int64{cpu, memory}, "seed %d", seed)
		} else {
			require.False(t, small, "seed %d: gave up", seed)
		}
	}
	require.Positive(t, short)
	require.Positive(t, general)
	require.Positive(t, pairs)
}

// A sum at an end of int64 goes the general way, also where only the row or only the amounts for scores overflow.
func TestPlainAtTheEnds(t *testing.T) {
	type test struct {
		name, why           string
		a, b, c             v1.ResourceList
		row, scores         bool // the short way of each is exact
		cpu, memory         int64
		scoreCPU, scoreByte int64
	}
	const most, least = math.MaxInt64, math.MinInt64
	cpu := func(n int64) v1.ResourceList { return v1.ResourceList{"cpu": *milli(n)} }
	memory := func(n int64) v1.ResourceList {
		return v1.ResourceList{"memory": *resource.NewQuantity(n, resource.BinarySI)}
	}
	both := func(c, m int64) v1.ResourceList { return total(cpu(c), memory(m)) }
	disk := func(n int64) v1.ResourceList {
		return total(both(0, 0), v1.ResourceList{"ephemeral-storage": *resource.NewQuantity(n, resource.BinarySI)})
	}
	testkit.Run(t, []test{
		{"small", "nothing overflows", both(1000, 2), cpu(1000), memory(3), true, true, 2000, 5, 2100, 5 + 200<<20},
		{"memory for scores", "200Mi more are too many", both(1, most), cpu(1), both(0, 0), false, false, 2, most, 2, most},
		{"cpu for scores", "100m more are too many", both(most, 1), memory(1), both(0, 0), false, false, most, 2, most, 2},
		{"memory of the row", "200Mi more are enough for scores", cpu(1), both(1, least), both(1, -1), false, true, 3, least, 3, least + 200<<20 - 1},
		{"cpu of the row", "100m more are enough for scores", memory(1), both(least, 1), both(-1, 1), false, true, least, 3, least + 99, 3},
		{"another resource", "scores do not read it", disk(most), disk(1), both(1, 1), false, true, 1, 1, 1, 1},
		{"not whole", "half a byte", testkit.Resources("cpu=1,memory=1500m"), testkit.Resources("cpu=1,memory=500m"), both(1, 1), false, false, 2001, 3, 2001, 3},
	}, func(t *testing.T, c test) {
		pod := &v1.Pod{}
		for _, list := range []v1.ResourceList{c.a, c.b, c.c} {
			pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Resources: v1.ResourceRequirements{Requests: list}})
		}
		schema := new(resources.Schema)
		_, _, ok := plainpod.Add(make(resources.Vector, schema.Len()), schema, pod)
		require.Equal(t, c.row, ok, "row")
		_, _, ok = plainpod.Add(nil, nil, pod)
		require.Equal(t, c.scores, ok, "scores")
		row := AppendRequests(nil, schema, pod, onNode)
		require.Equal(t, [2]int64{c.cpu, c.memory}, [2]int64{row[resources.CPU], row[resources.Memory]})
		cpu, memory := NonZero(pod, release.Current)
		require.Equal(t, [2]int64{c.scoreCPU, c.scoreByte}, [2]int64{cpu, memory})
	})
}

// A pod of which anything else counts is not plain.
func TestNotPlain(t *testing.T) {
	list := testkit.Resources("cpu=1")
	type test struct {
		name, why string
		o         Options
		plain     bool
		change    func(p *v1.Pod)
	}
	testkit.Run(t, []test{
		{"no change", "only the requests of the container count", onNode, true, func(*v1.Pod) {}},
		{"init container", "may need more while it runs", Options{}, false, func(p *v1.Pod) { p.Spec.InitContainers = p.Spec.Containers }},
		{"overhead", "is added", Options{}, false, func(p *v1.Pod) { p.Spec.Overhead = list }},
		{"pod level", "replaces sums", Options{}, false, func(p *v1.Pod) { p.Spec.Resources = &v1.ResourceRequirements{} }},
		{"missing", "counts for containers without", Options{Missing: list}, false, func(*v1.Pod) {}},
		{"status of the container", "counts on a node", onNode, false, func(p *v1.Pod) {
			p.Status.ContainerStatuses = []v1.ContainerStatus{{Resources: &v1.ResourceRequirements{}}}
		}},
		{"allocated to a sidecar", "counts on a node", onNode, false, func(p *v1.Pod) {
			p.Status.InitContainerStatuses = []v1.ContainerStatus{{AllocatedResources: list}}
		}},
		{"status of an incoming pod", "does not count", Options{}, true, func(p *v1.Pod) { p.Status.AllocatedResources = list }},
		{"infeasible resize", "the spec does not count", onNode, false, func(p *v1.Pod) {
			p.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Reason: v1.PodReasonInfeasible}}
		}},
	}, func(t *testing.T, c test) {
		pod := testkit.Containers("container a requests cpu=1")
		c.change(pod)
		require.Equal(t, c.plain, plain(pod, c.o))
	})
	require.False(t, plain(nil, Options{}))
}
