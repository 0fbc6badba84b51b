package conformance

import (
	"testing"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

// Every queueing hint of every plugin.
func TestHints(t *testing.T) {
	run(t, gen.Count(300, 3), func(seed int64) *gen.Cluster {
		return gen.Of(seed, gen.Shape{Volumes: seed%2 == 0, Nodes: 4, Running: 6, Pending: 3})
	}, defaultProfile(t), (*compare.Side).Hints)
}
