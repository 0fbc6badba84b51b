package cluster

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
)

// fleet makes a cluster with 3 zones and pods of 200 kinds (20 labels, 10 sizes). A tenth of the kinds have inter-pod terms.
func fleet(nodes, perNode int) Objects {
	o := Objects{}
	sizes := make([]v1.ResourceList, 10)
	for i := range sizes {
		sizes[i] = v1.ResourceList{"cpu": *resource.NewMilliQuantity(int64(50+10*i), resource.DecimalSI), "memory": *resource.NewQuantity(int64(1+i)<<26, resource.BinarySI)}
	}
	kinds := make([]*v1.Pod, 200)
	for i := range kinds {
		b := testkit.Pod("kind").Labels(fmt.Sprintf("app=a%d,tier=t%d", i%20, i%3))
		if i%10 == 0 {
			b = b.RequireApart(v1.LabelHostname, fmt.Sprintf("app=x%d", i%20))
		}
		kinds[i] = b.Obj()
		kinds[i].Spec.Containers[0].Resources.Requests = sizes[i%10]
	}
	for i := range nodes {
		n := testkit.Node(fmt.Sprintf("node-%05d", i)).Zone(fmt.Sprintf("zone-%d", i%3)).Capacity("cpu=32,memory=128Gi,ephemeral-storage=100Gi,pods=110").Obj()
		o.Nodes = append(o.Nodes, n)
		for j := range perNode {
			p := *kinds[(i*perNode+j)%len(kinds)]
			p.Name = fmt.Sprintf("pod-%d-%d", i, j)
			p.Spec.NodeName = n.Name
			o.Pods = append(o.Pods, &p)
		}
	}
	return o
}

func build(t testing.TB, nodes, perNode int) *Snapshot {
	t.Helper()
	s, err := New(fleet(nodes, perNode))
	require.NoError(t, err)
	require.Equal(t, nodes*perNode, total(s))
	return s
}

func atSizes(b *testing.B, run func(b *testing.B, nodes int)) {
	for _, n := range []int{5_000, 50_000} {
		if n > 5_000 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) { run(b, n) })
	}
}

// 30 pods a node.
func BenchmarkNew(b *testing.B) {
	atSizes(b, func(b *testing.B, n int) {
		o := fleet(n, 30)
		b.ReportAllocs()
		for b.Loop() {
			s, err := New(o)
			if err != nil || total(s) != len(o.Pods) {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPrepare(b *testing.B) {
	s := build(b, 100, 2)
	pod := testkit.Pod("new").Labels("app=a1,tier=t1,version=v1").Request("cpu=100m,memory=1Gi").Obj()
	b.ReportAllocs()
	for b.Loop() {
		s.prepare(pod)
	}
}

func BenchmarkAssumeUnset(b *testing.B) {
	atSizes(b, func(b *testing.B, n int) {
		s := build(b, n, 2)
		pod := testkit.Pod("new").Labels("app=a1,tier=t1").Request("cpu=100m,memory=1Gi").Obj()
		info := s.prepare(pod)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i = (i + 7919) % n
			if assumePrepared(s, info, pod, i) != nil || s.Remove(pod) != nil {
				b.Fatal("not assumed")
			}
		}
	})
}

// Assume works out what the pod counts with: the whole cost of a pod that the snapshot has never seen.
func BenchmarkAssumeUnsetUnprepared(b *testing.B) {
	s := build(b, 5_000, 2)
	pod := testkit.Pod("new").Labels("app=a1,tier=t1").Request("cpu=100m,memory=1Gi").Obj()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i = (i + 7919) % 5_000
		if s.Assume(pod, i) != nil || s.Remove(pod) != nil {
			b.Fatal("not assumed")
		}
	}
}

// Assume of pods that the snapshot has never seen, one after the other, as a scheduler calls it: the index of pods grows.
func BenchmarkAssumeNew(b *testing.B) {
	const pods = 20_000
	list := make([]*v1.Pod, pods)
	for i := range list {
		p := testkit.Pod(fmt.Sprintf("app-%d-pending-%d", i%20, i)).Labels(fmt.Sprintf("app=app-%d", i%20)).Request("cpu=100m,memory=200Mi")
		if i%2 == 1 {
			p = p.Request("example.com/gpu=1")
		}
		list[i] = p.Obj()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		s := build(b, 5_000, 2)
		b.StartTimer()
		for i, p := range list {
			if err := s.Assume(p, i*7919%5_000); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pods, "ns/pod")
}

func BenchmarkMarkRollback(b *testing.B) {
	for _, pods := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			s := build(b, 5_000, 2)
			list := make([]*v1.Pod, pods)
			for i := range list {
				list[i] = testkit.Pod(fmt.Sprint("new", i)).Labels("app=a1").Request("cpu=100m").Obj()
			}
			var info *info
			if pods > 0 {
				info = s.prepare(list[0])
			}
			b.ReportAllocs()
			for b.Loop() {
				m := s.Mark()
				for i, p := range list {
					if err := assumePrepared(s, info, p, i*37); err != nil {
						b.Fatal(err)
					}
				}
				s.Rollback(m)
			}
		})
	}
}

var fork *Snapshot // keeps the compiler from removing a fork

func BenchmarkFork(b *testing.B) {
	atSizes(b, func(b *testing.B, n int) {
		s := build(b, n, 2)
		s.Domains(v1.LabelTopologyZone)
		s.Domains(v1.LabelHostname)
		pod := testkit.Pod("new").Labels("app=a1,tier=t1").Request("cpu=100m,memory=1Gi").Obj()
		info := s.prepare(pod)
		b.Run("alone", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fork = s.Fork()
			}
		})
		b.Run("and assume one", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := assumePrepared(s.Fork(), info, pod, 17); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// Reads all rows of a snapshot, of a fork, and of a fork that has changed in every part.
func BenchmarkRead(b *testing.B) {
	s := build(b, 5_000, 2)
	f := s.Fork()
	g := s.Fork()
	for i := range g.Len() {
		if err := g.Assume(testkit.Pod(fmt.Sprint("new", i)).Request("cpu=100m").Obj(), i); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		s    *Snapshot
	}{{"base", s}, {"fork", f}, {"changed fork", g}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				free := 0
				for i := range c.s.Len() {
					a, r := c.s.Allocatable(i), c.s.Requested(i)
					if a[0]-r[0] >= 100 && a[1]-r[1] >= 1<<30 && c.s.Node(i) != nil {
						free++
					}
				}
				if free != 5_000 {
					b.Fatal(free)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/5_000, "ns/node")
		})
	}
}

func BenchmarkUpdateNode(b *testing.B) {
	s := build(b, 5_000, 2)
	s.Domains(v1.LabelHostname)
	s.Domains(v1.LabelTopologyZone)
	s.Classes([]string{"taints", "unschedulable"})
	s.Image("x")
	x := s.Node(100).DeepCopy()
	y := x.DeepCopy()
	y.Spec.Unschedulable = true
	b.ReportAllocs()
	for b.Loop() {
		if s.Set(y) != nil || s.Set(x) != nil {
			b.Fatal("no such node")
		}
	}
}
