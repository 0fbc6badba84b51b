package cel_test

import (
	"testing"

	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/internal/testkit"
)

// Empty and odd expressions give an error.
func TestMisuse(t *testing.T) {
	testkit.Misuse(t, map[string]any{
		"NewCompiler": cel.NewCompiler,
		"Compiler":    cel.NewCompiler,
	}, nil, "true", "device.")
}
