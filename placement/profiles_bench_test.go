package placement

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/score"
)

// BenchmarkProfiles measures what a second profile over one snapshot makes again: a plan, its first decision, and its first decisions about
// 120 kinds of pods, two of each. The second profile packs nodes.
func BenchmarkProfiles(b *testing.B) {
	first, second := benchProfile(), PluginArgs{NodeResourcesFit: FitOptions{
		Args: score.FitArgs{ScoringStrategy: &score.Strategy{Type: score.MostAllocated, Resources: []score.Resource{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}}},
	}}.Profile()
	second.Sampling = AllNodes()
	var pods []*v1.Pod
	for i := range 240 {
		pods = append(pods, replica(i%6, i/2%20, 1_000_000+i))
	}
	best := map[string]time.Duration{}
	note := func(name string, do func()) {
		begin := time.Now()
		do()
		if took := time.Since(begin); best[name] == 0 || took < best[name] {
			best[name] = took
		}
	}
	for b.Loop() {
		b.StopTimer()
		s := runningReplicas(b, 5000, 10, func(i int) *v1.Pod { return replica(i%6, i%20, i) })
		b.StartTimer()
		ask := func(name string, s *cluster.Snapshot, profile Profile) {
			var p *Placer
			note(name+"-plan-us", func() {
				var err error
				p, err = NewPlacer(s, profile)
				require.NoError(b, err)
			})
			note(name+"-first-us", func() { decideFirst(b, p.Plan, pods[0]) })
			note(name+"-kinds-us", func() {
				for _, pod := range pods {
					decideFirst(b, p.Plan, pod)
				}
			})
		}
		ask("one", s, first)
		ask("two", s, second)
	}
	for name, took := range best {
		b.ReportMetric(float64(took.Microseconds()), name)
	}
	b.ReportMetric(0, "ns/op")
}
