package conformance

import (
	"testing"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

// Preemption on full clusters, with budgets and nominated pods.
func TestPreemption(t *testing.T) {
	run(t, gen.Count(800, 15), func(seed int64) *gen.Cluster {
		return gen.Of(seed, gen.Shape{Nodes: 5, Running: 20, Nominated: seed%3 == 0, Crowded: seed%4 != 0, Volumes: seed%5 == 0})
	}, defaultProfile(t), (*compare.Side).Preemption)
}
