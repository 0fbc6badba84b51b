package reuse

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// audit checks the invariants after a step of a game.
func audit(t *testing.T, g *game, at string) { require.NoError(t, g.engine.valid(), at) }
