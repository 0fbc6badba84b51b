package placement

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// BenchmarkNominated decides and assumes plain pods while every hundredth node is kept for a pod that needs all of it. One benchmark gives the
// slots of these nodes, the other lets the plan ask about every node.
func BenchmarkNominated(b *testing.B) {
	const apps = 20
	for _, nodes := range []int{5_000, 50_000} {
		for _, listed := range []bool{true, false} {
			b.Run(fmt.Sprintf("listed=%t/%d", listed, nodes), func(b *testing.B) {
				pod := func(i int) *v1.Pod {
					p, _ := bareReplica(i%apps, i)
					return p.Obj()
				}
				s := runningReplicas(b, nodes, 2, pod)
				on := make([][]*v1.Pod, s.Len())
				o := Options{Nominated: func(i int) []*v1.Pod { return on[i] }}
				for i := 0; i < nodes; i += 100 {
					on[i] = []*v1.Pod{testkit.Pod(fmt.Sprint("nominated-", i)).Priority(10).Request("cpu=31").Obj()}
					if listed {
						o.NominatedSlots = append(o.NominatedSlots, i)
					}
				}
				decideInTurn(b, s, apps, o, pod)
			})
		}
	}
}
