package placement

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// BenchmarkHuge makes a plan over 100,000 nodes with 1,000,000 pods and decides 1,000 pods of 20 applications that spread softly over
// zones. It reports the time until the first decision of each application, the time of the other decisions with their Assume, and the
// heap that the plan keeps. -short has a hundredth of everything.
func BenchmarkHuge(b *testing.B) {
	nodes := 100_000
	if testing.Short() {
		nodes = 1000
	}
	const apps = 20
	kind := func(i int) *v1.Pod {
		p, app := bareReplica(i%apps, i)
		return p.Spread(5, v1.LabelTopologyZone, v1.ScheduleAnyway, "app="+app).Obj()
	}
	s := runningReplicas(b, nodes, 10, kind)
	heap := func() float64 { return float64(testkit.Heap()) / 1e6 }
	var pods []*v1.Pod
	for i := range 1000 {
		pods = append(pods, kind(20_000_000+i))
	}
	before := heap()
	for b.Loop() {
		mark := s.Mark()
		begin := time.Now()
		p, err := NewPlacer(s, benchProfile())
		require.NoError(b, err)
		var first time.Duration
		for i, pod := range pods {
			d := p.Decide(pod, Options{})
			if err := p.Assume(pod, d); err != nil {
				b.Fatal(err)
			}
			if i == 2*apps-1 { // heaps come with the second pod
				first = time.Since(begin)
			}
		}
		rest := time.Since(begin) - first
		b.ReportMetric(first.Seconds()*1000, "first-40-ms")
		b.ReportMetric(float64(rest.Nanoseconds())/1000/float64(len(pods)-2*apps), "us/decision")
		b.ReportMetric(heap()-before, "kept-MB")
		s.Rollback(mark)
		runtime.KeepAlive(p)
	}
	b.ReportMetric(0, "ns/op")
}
