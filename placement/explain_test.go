package placement

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// largeCluster has 5,000 nodes by default, and running pods of three applications. Each plugin rejects some of the
// nodes.
func largeCluster(t testing.TB, nodes int) *Plan {
	var o cluster.Objects
	for i := range nodes {
		b := testkit.Node(fmt.Sprintf("node-%04d", i)).Zone(fmt.Sprintf("zone-%d", i%3)).Label("disk", []string{"ssd", "hdd"}[i%2]).Capacity("cpu=32,memory=64Gi")
		switch i % 10 {
		case 3:
			b = b.Taint("team=a:NoSchedule")
		case 4:
			b = b.Unschedulable()
		case 5:
			b = b.Taint("spot:PreferNoSchedule")
		}
		o.Nodes = append(o.Nodes, b.Obj())
		size := "cpu=2,memory=4Gi"
		if i%7 == 0 {
			size = "cpu=31,memory=60Gi"
		}
		app := fmt.Sprintf("app=app-%d", i%3)
		o.Pods = append(o.Pods, testkit.Pod(fmt.Sprintf("p%d", i)).Labels(app).Request(size).On(o.Nodes[i].Name).Obj(),
			testkit.Pod(fmt.Sprintf("q%d", i)).Labels(app).Request("cpu=1,memory=2Gi").On(o.Nodes[(i*7)%(i+1)].Name).Obj())
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	p, err := New(s, benchProfile())
	require.NoError(t, err)
	return p
}

func demanding() *v1.Pod {
	return testkit.Pod("default/incoming").Labels("app=app-1").Request("cpu=4,memory=8Gi").NodeSelector("disk=ssd").
		Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app=app-1").Spread(1, v1.LabelHostname, v1.ScheduleAnyway, "app=app-1").
		RequireApart(v1.LabelHostname, "app=app-2").PreferWith(50, v1.LabelTopologyZone, "app=app-0").Obj()
}

// A full explanation takes at most 10 ms: the answers of every plugin about 5,000 nodes, with all scores. It takes up to 25
// ms for a pod whose anti-affinity rejects a third of the nodes, because it names the running pods behind each rejection.
func BenchmarkTable(b *testing.B) {
	for _, c := range []struct {
		name string
		pod  *v1.Pod
		most time.Duration
	}{
		{"plain", testkit.Pod("default/plain").Request("cpu=4,memory=8Gi").Obj(), 10 * time.Millisecond},
		{"demanding", demanding(), 25 * time.Millisecond},
		{"rejected", testkit.Pod("default/huge").Request("cpu=64,memory=8Gi").Obj(), 10 * time.Millisecond},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := largeCluster(b, 5000)
			b.ReportAllocs()
			best := time.Hour // other processes on the machine do not count
			for b.Loop() {
				begin := time.Now()
				if table, err := p.Table(c.pod); err != nil || len(table) != 5000 {
					b.Fatal(len(table), err)
				}
				best = min(best, time.Since(begin))
			}
			b.ReportMetric(float64(best.Nanoseconds()), "best-ns/op")
			if best > c.most {
				b.Errorf("%v for a full explanation, want at most %v", best, c.most)
			}
		})
	}
}

// An explanation costs nothing if nobody asks for it. The benchmark compares a decision without explanations, a
// decision on a plan that explains other pods, and a decision with its explanation.
func BenchmarkDecideUnexplained(b *testing.B) {
	pods := []*v1.Pod{testkit.Pod("default/plain").Request("cpu=4,memory=8Gi").Obj(), testkit.Pod("default/huge").Request("cpu=64").Obj()}
	for _, c := range []struct {
		name            string
		before, between bool
	}{{"never", false, false}, {"before", true, false}, {"each", false, true}} {
		b.Run(c.name, func(b *testing.B) {
			p := largeCluster(b, 1000)
			explain := func() {
				if _, err := p.Table(pods[0]); err != nil {
					b.Fatal(err)
				}
			}
			if c.before {
				explain()
			}
			for range 3 {
				p.Decide(pods[0], Options{})
				p.Decide(pods[1], Options{})
			}
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(pods[0], Options{})
				p.Decide(pods[1], Options{})
				if c.between {
					explain()
				}
			}
		})
	}
}
