package conformance

import (
	"testing"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

// Extenders that filter, score, fail, or stand aside.
func TestExtenders(t *testing.T) {
	run(t, gen.Count(300, 4), gen.New, defaultProfile(t), (*compare.Side).Extenders)
}

// Extenders that have a say in preemption.
func TestExtendedPreemption(t *testing.T) {
	run(t, gen.Count(300, 4), func(seed int64) *gen.Cluster {
		return gen.Of(seed, gen.Shape{Nodes: 5, Running: 20, Crowded: true})
	}, defaultProfile(t), (*compare.Side).PreemptExtended)
}
