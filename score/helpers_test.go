package score_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// rows is a cluster with resource rows computed from its pods.
type rows struct {
	nodes    []*v1.Node
	schema   *resources.Schema
	alloc    []resources.Vector
	used     []resources.Vector
	cpu, mem []int64
}

func newRows(nodes ...*v1.Node) *rows {
	r := &rows{nodes: nodes, schema: new(resources.Schema)}
	for _, n := range nodes {
		var a resources.Vector
		if n != nil {
			a = resources.FromList(r.schema, n.Status.Allocatable)
		}
		r.alloc = append(r.alloc, a)
		r.used = append(r.used, nil)
		r.cpu, r.mem = append(r.cpu, 0), append(r.mem, 0)
	}
	return r
}

// run adds a pod to slot i.
func (r *rows) run(i int, pod *v1.Pod) *rows {
	v := overhead.AppendRequests(nil, r.schema, pod, overhead.Options{UseStatus: true})
	r.used[i] = r.used[i].Grow(len(v))
	r.used[i].Add(v)
	c, m := overhead.NonZero(pod, release.Current)
	sum := resources.Vector{r.cpu[i], r.mem[i]} // adds with saturation
	sum.Add(resources.Vector{c, m})
	r.cpu[i], r.mem[i] = sum[0], sum[1]
	return r
}

func (r *rows) Len() int                                    { return len(r.nodes) }
func (r *rows) Node(i int) *v1.Node                         { return r.nodes[i] }
func (r *rows) Schema() *resources.Schema                   { return r.schema }
func (r *rows) Allocatable(i int) resources.Vector          { return r.alloc[i] }
func (r *rows) Requested(i int) resources.Vector            { return r.used[i] }
func (r *rows) NonZero(i int) (cpuMilli, memoryBytes int64) { return r.cpu[i], r.mem[i] }

type deviceRows struct {
	*rows
	devices func(name v1.ResourceName, i int) (int64, int64)
}

func (d deviceRows) Devices(name v1.ResourceName, i int) (int64, int64) { return d.devices(name, i) }

func node(name, capacity string) *v1.Node {
	n := testkit.Node(name).Capacity(capacity).Obj()
	delete(n.Status.Allocatable, v1.ResourcePods)
	return n
}

func pod(requests string) *v1.Pod { return testkit.Pod("web").Request(requests).Obj() }

func withOverhead(p *v1.Pod, list string) *v1.Pod {
	p.Spec.Overhead = testkit.Resources(list)
	return p
}

func withPodLevel(p *v1.Pod, list string) *v1.Pod {
	p.Spec.Resources = &v1.ResourceRequirements{Requests: testkit.Resources(list)}
	return p
}

func withContainers(p *v1.Pod, containers, inits int) *v1.Pod {
	for range containers {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{})
	}
	for range inits {
		p.Spec.InitContainers = append(p.Spec.InitContainers, v1.Container{})
	}
	return p
}

func fit(t *testing.T, p *v1.Pod, s score.Strategy, r score.Rows) score.AllocationState {
	t.Helper()
	e, err := score.CompileAllocation(p, score.FitArgs{ScoringStrategy: &s})
	require.NoError(t, err)
	return e.On(r)
}

func balance(t *testing.T, p *v1.Pod, a score.BalanceArgs, r score.Rows) score.BalanceState {
	t.Helper()
	e, err := score.CompileBalance(p, a)
	require.NoError(t, err)
	return e.On(r)
}

func raws(n int, raw func(i int) int64) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = raw(i)
	}
	return list
}

func weighted(pairs ...any) []score.Resource {
	var list []score.Resource
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, score.Resource{Name: pairs[i].(string), Weight: int64(pairs[i+1].(int))})
	}
	return list
}

func points(pairs ...int32) []score.Point {
	var list []score.Point
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, score.Point{Utilization: pairs[i], Score: pairs[i+1]})
	}
	return list
}
