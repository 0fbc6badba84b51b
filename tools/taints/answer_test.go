package taints

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/tools/program"
)

// A forecast in which nothing happens has empty lists, not none.
func TestNothingHappens(t *testing.T) {
	a := answerOf(taint.Timeline{}, nil, &program.Tables{})
	require.Equal(t, []entry{}, a.Entries)
	require.Equal(t, []pending{}, a.Pending)
}
