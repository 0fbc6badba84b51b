package conformance

import (
	"testing"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

// The test compares preemption on full clusters, with budgets and nominated pods, and on clusters in which preemption often
// does not help.
func TestPreemption(t *testing.T) {
	run(t, gen.Count(800, 20), func(seed int64) *gen.Cluster { return gen.Of(seed, preemptible(seed)) },
		defaultProfile(t), (*compare.Side).Preemption)
}

// The best victims are never worse than v1.36's, and kube-scheduler accepts the pod without them. The share of the long run is
// 50: 100,000 of 200,000 clusters.
func TestBestVictims(t *testing.T) {
	run(t, gen.Count(300, 50), func(seed int64) *gen.Cluster { return gen.Of(seed, preemptible(seed)) },
		defaultProfile(t), (*compare.Side).Optimal)
}

func preemptible(seed int64) gen.Shape {
	s := gen.Shape{Nodes: 5, Running: 20, Crowded: true}
	switch seed % 10 {
	case 1, 2:
		s.Nominated = true
	case 3:
		s.Volumes, s.Focus = true, gen.Volumes
	case 4:
		s.Crowded, s.Urgent, s.Focus = false, true, gen.PodAffinity
	case 5:
		s.Crowded, s.Urgent, s.Focus = false, true, gen.Spread
	case 6:
		s.Crowded, s.Urgent, s.Volumes, s.Focus = false, true, true, gen.Volumes
	case 7:
		s.Crowded, s.Urgent, s.Focus = false, true, gen.Resources|gen.OddResources
	case 8:
		s.Crowded, s.Urgent, s.Nominated = false, true, true
	}
	return s
}
