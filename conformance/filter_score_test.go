package conformance

import (
	"testing"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

// Filters, scores, choices and messages of the default profile.
func TestDefaultProfile(t *testing.T) {
	run(t, gen.Count(1500, 40), gen.New, defaultProfile(t), (*compare.Side).Cluster)
}

// Pending pods that are nominated to nodes.
func TestNominated(t *testing.T) {
	run(t, gen.Count(400, 10), func(seed int64) *gen.Cluster {
		return gen.Of(seed, gen.Shape{Nominated: true, Pending: 5, Volumes: seed%4 == 0})
	}, defaultProfile(t), (*compare.Side).Cluster)
}
