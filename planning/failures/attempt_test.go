package failures

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// An attempt that preempts says which decision it follows, and on which node the pod tries again.
func TestAttemptThatPreempts(t *testing.T) {
	w := five("cpu=1")
	w.app("web", "cpu=1", "n1 n2 n3 n4 n5", nil)
	w.in.Pending = []*v1.Pod{testkit.Pod("first").Priority(9).Request("cpu=1").Obj()}
	var attempts []string
	_, err := w.planner(t).Run([]Scenario{{"test", []string{"n1"}}}, Options{Observe: func(_ int, a Attempt) {
		if a.Nominated != "" {
			require.Equal(t, 4, a.Decision.Nodes)
			require.Contains(t, a.Decision.Failure.Text(), "4 Insufficient cpu")
			require.Len(t, a.Victims, 1)
			attempts = append(attempts, a.Pod.Name)
		}
	}})
	require.NoError(t, err)
	require.Equal(t, []string{"first"}, attempts)
}
