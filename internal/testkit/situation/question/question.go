// Package question asks package planning/gang about the situations of package situation, for tests.
package question

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit/situation"
	"github.com/podberth/podberth/planning/gang/proof"
)

// Of returns the question of a situation: does its queue have a place? A text that is no situation ends the test.
func Of(t testing.TB, text string) proof.Question {
	s, err := situation.Parse(text)
	require.NoError(t, err)
	snapshot, err := s.Snapshot()
	require.NoError(t, err)
	return proof.Question{Snapshot: snapshot, Queued: s.Queued, Gates: s.Gates}
}
