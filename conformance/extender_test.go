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
