package conformance

import (
	"testing"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

// Pods with volumes of all kinds.
func TestVolumes(t *testing.T) {
	run(t, gen.Count(800, 15), func(seed int64) *gen.Cluster {
		return gen.Of(seed, gen.Shape{Volumes: true, Nodes: 5, Running: 10, Focus: gen.Volumes})
	}, defaultProfile(t), (*compare.Side).Cluster)
}
