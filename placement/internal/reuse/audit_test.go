package reuse

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// audit checks the invariants after a step of a game.
func audit(t *testing.T, g *game, at string) { require.NoError(t, g.engine.valid(), at) }

// equal is require.Equal without its cost where numbers are equal.
func equal[T comparable](t *testing.T, want, got T, at ...any) {
	if want != got {
		require.Equal(t, want, got, at...)
	}
}
