package filter

import (
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// rows is a cluster that makes its vectors once, like a snapshot. Each slot holds one pod. Every third pod has host port 80.
type rows struct {
	schema                 *resources.Schema
	nodes                  []*v1.Node
	allocatable, requested []resources.Vector
	holder                 []*v1.Pod
}

func newRows(n int) *rows {
	r := &rows{schema: new(resources.Schema), holder: []*v1.Pod{withPorts(pod("h"), port("", "", 80))}}
	r.schema.Intern("example.com/gpu")
	for i := range n {
		r.nodes = append(r.nodes, inZone(fmt.Sprint("n", i), fmt.Sprint(i%3)))
		r.allocatable = append(r.allocatable, resources.Vector{4000, 8 << 30, 100 << 30, 110, int64(i % 4)})
		r.requested = append(r.requested, resources.Vector{int64(i % 5 * 1000), int64(i%3) << 32, 0, int64(i % 112)})
	}
	return r
}

func (r *rows) Len() int                           { return len(r.nodes) }
func (r *rows) Node(i int) *v1.Node                { return r.nodes[i] }
func (r *rows) Schema() *resources.Schema          { return r.schema }
func (r *rows) Allocatable(i int) resources.Vector { return r.allocatable[i] }
func (r *rows) Requested(i int) resources.Vector   { return r.requested[i] }
func (r *rows) PortPods(i int) []*v1.Pod           { return r.holder[:(i+2)%3/2] }
func (r *rows) Pods(i int) iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		for _, p := range r.PortPods(i) {
			if !yield(p) {
				return
			}
		}
	}
}

func busyPod() *v1.Pod {
	p := withPorts(pod("p", "cpu", "2", "memory", "4Gi", "example.com/gpu", "1"), port("", "", 80))
	p.Spec.NodeName = "n1"
	p.Spec.HostNetwork, p.Spec.HostUsers = true, ptr(false)
	return p
}

func all(r *rows, p *v1.Pod) Predicates {
	return Predicates{CompileNodeName(p).On(r), CompilePorts(p).On(r), CompileFit(p, FitOptions{}).On(r),
		CompileFeatures(p).On(r)}
}

func TestChecksDoNotAllocate(t *testing.T) {
	r := newRows(50)
	p := busyPod()
	ps := all(r, p)
	for _, q := range ps {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			for i := range 50 {
				q.Check(i)
			}
		}), q.Name())
	}
	ports, fit := CompilePorts(p).On(r), CompileFit(p, FitOptions{}).On(r)
	pt, ft := ports.NewTrial(), fit.NewTrial()
	pt.Add(r.holder[0], 7)
	ft.Add(r.holder[0], 7)
	require.Zero(t, testing.AllocsPerRun(100, func() { pt.Check(7); ft.Check(7) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { ports.(*portsState).ports.conflict(r.holder[0]) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { ps.First(3); ps.Code(Rejection{0, 1}) }))
}

// A message about 5,000 nodes that all reject costs as much as a message about 50 nodes.
func TestMessageOverManyNodes(t *testing.T) {
	cost := func(n int) float64 {
		r := newRows(n)
		p := pod("p", "cpu", "9", "memory", "99Gi", "example.com/gpu", "9")
		ps := Predicates{CompileFit(p, FitOptions{}).On(r)}
		s := Search{Candidates: ScanOrder(r)}
		found := s.Run(ps, nil)
		require.Equal(t, n, found.Rejected.Nodes())
		want := Message{Nodes: n, Reasons: found.Rejected.Counts(ps)}.String()
		return testing.AllocsPerRun(10, func() {
			f := s.Run(ps, nil)
			require.Equal(t, want, Message{Nodes: n, Reasons: f.Rejected.Counts(ps)}.String())
		})
	}
	few, many := cost(500), cost(5000)
	require.LessOrEqual(t, many, few+2, "few %v many %v", few, many)
}

var sink int

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{5000, 50000} {
		r := newRows(n)
		p := busyPod()
		for _, q := range all(r, p) {
			b.Run(fmt.Sprint(q.Name(), "/", n), func(b *testing.B) {
				for b.Loop() {
					for i := range n {
						sink += int(q.Check(i))
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
			})
		}
		plain := CompileFit(pod("p", "cpu", "1", "memory", "1Gi"), FitOptions{}).On(r)
		b.Run(fmt.Sprint("plain pod/", n), func(b *testing.B) {
			for b.Loop() {
				for i := range n {
					sink += int(plain.Check(i))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
		})
	}
}

func BenchmarkCompileAndCount(b *testing.B) {
	r := newRows(5000)
	p := busyPod()
	b.Run("fit", func(b *testing.B) {
		for b.Loop() {
			sink += len(compileFit(p, FitOptions{}).on(r).columns)
		}
	})
	b.Run("ports/5000", func(b *testing.B) {
		for b.Loop() {
			sink += len(compilePorts(p).on(r).taken)
		}
	})
}

func BenchmarkTrial(b *testing.B) {
	r := newRows(100)
	fit := CompileFit(pod("p", "cpu", "1", "memory", "1Gi"), FitOptions{}).On(r)
	q := pod("q", "cpu", "1", "memory", "1Gi")
	tr := fit.NewTrial()
	for b.Loop() {
		tr.Remove(q, 3)
		sink += int(tr.Check(3))
		tr.Reset()
	}
}

func BenchmarkFailure(b *testing.B) {
	for _, n := range []int{5000, 50000} {
		r := newRows(n)
		ps := Predicates{CompileFit(pod("p", "cpu", "9", "memory", "99Gi", "example.com/gpu", "9"), FitOptions{}).On(r)}
		s := Search{Candidates: ScanOrder(r)}
		b.Run(fmt.Sprint("search and message/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f := s.Run(ps, nil)
				sink += len(Message{Nodes: n, Reasons: f.Rejected.Counts(ps)}.String())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
		})
	}
}

func BenchmarkZones(b *testing.B) {
	for _, n := range []int{5000, 50000} {
		r := newRows(n)
		b.Run(fmt.Sprint("scan order/", n), func(b *testing.B) {
			for b.Loop() {
				sink += len(ScanOrder(r))
			}
		})
	}
}
