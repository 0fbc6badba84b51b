package taints_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/taints"
)

// benchCluster has n nodes with two taints each, in 20 combinations.
func benchCluster(n int) *testkit.Cluster {
	nodes := make([]*v1.Node, n)
	for i := range nodes {
		nodes[i] = node(fmt.Sprintf("team=t%d:NoSchedule", i%5), fmt.Sprintf("disk=d%d:PreferNoSchedule", i%4))
		nodes[i].Name = fmt.Sprint("n", i)
	}
	return testkit.NewCluster(nodes, nil)
}

// interned offers classes that were worked out before, as a snapshot does.
type interned struct {
	*testkit.Cluster
	ids, reps []int32
}

func (c *interned) Classes([]string) (ids, reps []int32, ok bool) { return c.ids, c.reps, true }

func benchTolerations() []v1.Toleration {
	return tols(tol("team Equal t1 NoSchedule"), tol("gpu Exists _ _"), tol("team Equal t3 NoSchedule"))
}

func BenchmarkCompile(b *testing.B) {
	ts := benchTolerations()
	for b.Loop() {
		taints.Compile(ts, taints.Options{})
	}
}

func BenchmarkTolerates(b *testing.B) {
	ev, n := taints.Compile(benchTolerations(), taints.Options{}), benchCluster(4).Nodes[3]
	for b.Loop() {
		ev.Tolerates(n)
	}
}

func BenchmarkPass(b *testing.B) {
	for _, size := range []int{5000, 50000} {
		c := benchCluster(size)
		fast := &interned{Cluster: c}
		fast.ids, fast.reps, _ = (&classed{Cluster: c}).Classes(nil)
		fast.reps = fast.reps[:len(fast.reps)-1]
		for name, view := range map[string]view.Nodes{"plain": c, "classes": fast} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.ReportAllocs()
				ev := taints.Compile(benchTolerations(), taints.Options{})
				raw := make([]int64, 0, size)
				for b.Loop() {
					s := ev.On(view)
					raw = raw[:0]
					for i := range size {
						if s.Check(i) == 0 {
							raw = append(raw, s.Raw(i))
						}
					}
					for k, r := range raw {
						raw[k] = s.Normalize(r, 0, 1)
					}
				}
				if len(raw) != size*2/5 {
					b.Fatalf("%d feasible", len(raw))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/node")
			})
		}
	}
}
