package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// BenchmarkChurn decides and assumes pods of 20 applications with seven kinds of rules among 50,000 nodes. A running pod leaves
// before every second decision, and before every tenth the labels of a node change, and the taints of another node.
func BenchmarkChurn(b *testing.B) {
	const nodes, apps = 50_000, 20
	pod := func(i int) *v1.Pod {
		app := i % apps
		x, name := bareReplica(app, i)
		if k := app % 7; k < len(kinds) {
			x = kinds[k].add(x, name)
		} else {
			x = x.Tolerate("team", v1.TolerationOpExists, "", "")
		}
		p := x.Obj()
		p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = *resource.NewMilliQuantity(int64(50+10*app), resource.DecimalSI)
		return p
	}
	s := runningReplicas(b, nodes, 2, pod)
	var running []*v1.Pod
	for i := range nodes {
		for p := range s.Pods(i) {
			running = append(running, p)
		}
	}
	plan, err := New(s, benchProfile())
	require.NoError(b, err)
	n := 0
	next := func() {
		if n%2 == 0 && n/2 < len(running) {
			require.NoError(b, s.Remove(running[n/2]))
		}
		at := n * 7 % nodes
		if k := n % 10; k == 3 || k == 8 {
			node := s.Node(at).DeepCopy()
			switch {
			case k == 3:
				node.Labels["revision"] = fmt.Sprint(n)
			case len(node.Spec.Taints) > 0:
				node.Spec.Taints = nil
			default:
				node.Spec.Taints = []v1.Taint{{Key: "team", Value: "a", Effect: v1.TaintEffectNoSchedule}}
			}
			require.NoError(b, s.Set(node))
		}
		p := pod(1_000_000 + n)
		if err := s.Assume(p, plan.Decide(p, Options{}).Slot); err != nil {
			b.Fatal(err)
		}
		n++
	}
	for range 5 * apps {
		next()
	}
	b.ReportAllocs()
	for b.Loop() {
		next()
	}
}
