package placement

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// BenchmarkFirst decides about the first pods of new kinds: the nodes are known, and each pod asks or selects something that no pod
// asked before it.
func BenchmarkFirst(b *testing.B) {
	for _, nodes := range []int{5_000, 50_000} {
		for _, c := range []struct {
			name string
			pod  func(n int) testkit.PodBuilder
		}{
			{"labels", func(n int) testkit.PodBuilder {
				return testkit.Pod("p").Labels(fmt.Sprintf("app=new-%d", n)).Request("cpu=100m,memory=200Mi")
			}},
			{"requests", func(n int) testkit.PodBuilder {
				return testkit.Pod("p").Request(fmt.Sprintf("cpu=100m,memory=%d", 200<<20+n))
			}},
			{"tolerations", func(n int) testkit.PodBuilder {
				return testkit.Pod("p").Request("cpu=100m,memory=200Mi").Tolerate(fmt.Sprintf("new-%d", n), v1.TolerationOpExists, "", v1.TaintEffectNoSchedule)
			}},
			{"selector", func(n int) testkit.PodBuilder {
				return testkit.Pod("p").Request("cpu=100m,memory=200Mi").RequireNodes(otherRack(n))
			}},
			{"selector-and-requests", func(n int) testkit.PodBuilder {
				return testkit.Pod("p").Request(fmt.Sprintf("cpu=100m,memory=%d", 200<<20+n)).RequireNodes(otherRack(n))
			}},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, nodes), func(b *testing.B) {
				s := runningReplicas(b, nodes, 2, func(i int) *v1.Pod { return replica(0, i%20, i) })
				p, err := New(s, benchProfile())
				require.NoError(b, err)
				for n := range 3 {
					decideFirst(b, p, c.pod(1<<20+n).Obj())
				}
				n, best := 0, [2]time.Duration{time.Hour, time.Hour} // other processes on the machine do not count
				for b.Loop() {
					pod := c.pod(n).Obj()
					n++
					for k := range best {
						begin := time.Now()
						decideFirst(b, p, pod)
						best[k] = min(best[k], time.Since(begin))
					}
				}
				b.ReportMetric(float64(best[0].Microseconds()), "first-us")
				b.ReportMetric(float64(best[1].Microseconds()), "second-us")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func decideFirst(b *testing.B, p *Plan, pod *v1.Pod) {
	if d := p.Decide(pod, Options{}); !d.Placed() {
		b.Fatal(text(d))
	}
}

// otherRack is a term that no pod before used. Every node matches.
func otherRack(n int) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: "rack", Operator: v1.NodeSelectorOpNotIn, Values: []string{fmt.Sprint("new-", n)}},
	}}
}
