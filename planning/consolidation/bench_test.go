package consolidation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// large is a cluster of nodes in five zones with pods of many apps, which ask for less than half of it: a third plain, a third
// spread over zones, a third apart by hostname.
func large(nodes, perNode int) *world {
	w := &world{}
	for i := range nodes {
		w.node(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", i%5), "cpu=8,memory=32Gi")
	}
	apps := max(1, nodes*perNode/60)
	for a := range apps {
		name := fmt.Sprintf("app%d", a)
		change := []func(*v1.PodSpec){nil, spreadOver(name, v1.LabelTopologyZone), apart(name, v1.LabelHostname)}[a%3]
		t := template(name, fmt.Sprintf("cpu=%dm,memory=%dMi", 200+a%7*100, 512+a%5*512), change)
		r := w.app(name, "", "", nil)
		r.Spec.Template = t
		for k := range 60 {
			w.pod("ReplicaSet", name, fmt.Sprintf("%s-%d", name, k), w.objects.Nodes[(a*7+k*(nodes/60+1))%nodes].Name, t)
		}
		r.Spec.Replicas = ptr(int32(60))
		if a%2 == 0 {
			w.budget(name, 54)
		}
	}
	return w
}

// The first plan of 5,000 nodes with 30,000 pods.
func BenchmarkPlan5000(b *testing.B) {
	p := large(5000, 6).planner(b)
	b.ReportAllocs()
	for b.Loop() {
		plan, err := p.Plan(Options{})
		require.NoError(b, err)
		require.Less(b, plan.After, int64(4000))
		b.ReportMetric(float64(plan.After), "nodes")
		b.ReportMetric(float64(plan.Moves()), "moves")
		b.ReportMetric(float64(len(plan.Waves)), "waves")
	}
}
