package overhead

import (
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

// Nil, zero and extreme arguments give an error or the zero answer, except for a nil schema.
func TestMisuse(t *testing.T) {
	testkit.Misuse(t, map[string]any{
		"Allocatable":       Allocatable,
		"AppendRequests":    AppendRequests,
		"Default":           Default,
		"Each":              Each,
		"Explain":           Explain,
		"IsSidecar":         IsSidecar,
		"Limits":            Limits,
		"NonZero":           NonZero,
		"NonZeroIncoming":   NonZeroIncoming,
		"PodLevelSupported": PodLevelSupported,
		"Requests":          Requests,
	}, map[string]string{
		"AppendRequests": "the schema must not be nil, because it gets the columns",
	})
}
