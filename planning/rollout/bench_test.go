package rollout

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

var (
	benchNodes = flag.Int("nodes", 5000, "nodes in BenchmarkPlan")
	benchPods  = flag.Int("pods", 2, "running pods per node in BenchmarkPlan")
)

// large is a cluster of nodes in five zones, each at most half full of pods of many apps with budgets: a third plain, a third spread
// over zones, a third apart by hostname.
func large(nodes, perNode int) *world {
	w := &world{in: Input{Now: testkit.Epoch}}
	for i := range nodes {
		w.objects.Nodes = append(w.objects.Nodes, testkit.Node(fmt.Sprintf("n%d", i)).Zone(fmt.Sprintf("z%d", i%5)).Capacity("cpu=32,memory=128Gi").Obj())
	}
	apps := max(1, nodes*perNode/60) // 60 pods each
	changes := []func(string) func(*v1.PodSpec){
		func(string) func(*v1.PodSpec) { return nil },
		func(app string) func(*v1.PodSpec) { return spreadOver(app, zone) },
		func(app string) func(*v1.PodSpec) { return apart(app, host) },
	}
	on := make([]string, apps)
	for i := range nodes {
		for k := range perNode {
			a := (i + k*997) % apps
			on[a] += fmt.Sprintf(" n%d", i)
		}
	}
	for a := range apps {
		name := fmt.Sprintf("app%d", a)
		w.app(name, fmt.Sprintf("cpu=%dm,memory=%dMi", 200+a%7*50, 512+a%5*256), on[a], changes[a%3](name))
		w.budget(name, name, "max 10%")
	}
	return w
}

// A plan for all nodes, ten at a time with ten surge nodes. With -args -nodes 1000 -pods 30 the cluster has 30,000 pods.
func BenchmarkPlan(b *testing.B) {
	p := large(*benchNodes, *benchPods).planner(b)
	b.ReportAllocs()
	for b.Loop() {
		plan, err := p.Plan(Options{Batch: 10, Surge: 10, Start: func(*v1.Pod, string) time.Duration { return 10 * time.Second }})
		require.NoError(b, err)
		require.True(b, plan.Complete(), "%v", plan.Blocked)
		b.ReportMetric(float64(plan.Evictions), "evictions")
	}
}
