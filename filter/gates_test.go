package filter

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

func TestGated(t *testing.T) {
	p := pod("p")
	_, gated := Gated(p)
	require.False(t, gated)
	p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "foo"}, {Name: "bar"}}
	message, gated := Gated(p)
	require.True(t, gated)
	require.Equal(t, "waiting for scheduling gates: [foo bar]", message)
}
