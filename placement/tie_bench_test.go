package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// BenchmarkTie decides with a choice among nodes of equal total, for replicas that spread softly over zones, and over hostnames too.
func BenchmarkTie(b *testing.B) {
	for _, nodes := range []int{5_000, 50_000} {
		for k, name := range []string{"zones", "hostnames"} {
			pod := func(i int) *v1.Pod {
				p, app := bareReplica(i%20, i)
				for _, key := range []string{v1.LabelTopologyZone, v1.LabelHostname}[:k+1] {
					p = p.Spread(1, key, v1.ScheduleAnyway, "app="+app)
				}
				return p.Obj()
			}
			b.Run(fmt.Sprintf("%s/%d", name, nodes), func(b *testing.B) {
				decideInTurn(b, runningReplicas(b, nodes, 2, pod), 20, Options{Tie: rand.New(rand.NewPCG(1, 2)).IntN}, pod)
			})
		}
	}
}
