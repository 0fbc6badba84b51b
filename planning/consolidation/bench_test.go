package consolidation

import (
	"flag"
	"fmt"
	"math"
	"testing"
	"time"

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
			w.pod("ReplicaSet", name, fmt.Sprintf("%s-%d", name, k), w.objects.Nodes[(a*31+k*83)%nodes].Name, t)
		}
		r.Spec.Replicas = ptr(int32(60))
		if a%2 == 0 {
			w.budget(name, 54)
		}
	}
	return w
}

var curve = flag.Duration("curve", 0, "how long TestCurve searches among 5,000 nodes; 0: not at all")

// The cost over the time of a search among 5,000 nodes with 30,000 pods. The run of docs/consolidation.md is
// go test ./planning/consolidation -run Curve -v -args -curve 40s
func TestCurve(t *testing.T) {
	if *curve == 0 {
		t.Skip("-curve asks for it")
	}
	w := large(5000, 6)
	begin := time.Now()
	p := w.planner(t)
	t.Logf("%.1fs: the planner is ready", time.Since(begin).Seconds())
	last := int64(0)
	plan, err := p.Plan(Options{
		Steps: math.MaxInt, Stop: func() bool { return time.Since(begin) > *curve },
		Improved: func(x Progress) {
			if now := time.Since(begin).Seconds(); x.Cost != last {
				last = x.Cost
				t.Logf("%.1fs: %d steps, %d nodes, bound %d, %d moves", now, x.Step, x.Cost, x.Bound, x.Moves)
			}
		},
	})
	require.NoError(t, err)
	t.Logf("%.1fs: the plan has %d nodes, bound %d, gap %.3f, %d moves in %d waves", time.Since(begin).Seconds(), plan.After, plan.Bound, plan.Gap(), plan.Moves(), len(plan.Waves))
	require.Less(t, plan.After, plan.Before)
}

// The first plan of 5,000 nodes with 30,000 pods.
func BenchmarkPlan5000(b *testing.B) {
	p := large(5000, 6).planner(b)
	b.ReportAllocs()
	for b.Loop() {
		plan, err := p.Plan(Options{Steps: -1})
		require.NoError(b, err)
		require.Less(b, plan.After, int64(4000))
		b.ReportMetric(float64(plan.After), "nodes")
		b.ReportMetric(float64(plan.Moves()), "moves")
		b.ReportMetric(float64(len(plan.Waves)), "waves")
	}
}
