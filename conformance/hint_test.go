package conformance

import (
	"testing"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

// Every queueing hint of every plugin.
func TestHints(t *testing.T) {
	run(t, gen.Count(300, 3), func(seed int64) *gen.Cluster {
		shape := gen.Shape{Volumes: seed%2 == 0, Nodes: 4, Running: 6, Pending: 3}
		if seed%4 == 1 {
			shape.Focus = gen.PodAffinity | gen.Spread | gen.Ports
		}
		return gen.Of(seed, shape)
	}, defaultProfile(t), (*compare.Side).Hints)
}
