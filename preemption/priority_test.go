package preemption

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func TestPriority(t *testing.T) {
	require.Zero(t, Priority(nil))
	require.Zero(t, Priority(&v1.Pod{}))
	require.EqualValues(t, -7, Priority(testkit.Pod("p").Priority(-7).Obj()))
	pod := testkit.Pod("p").Obj()
	pod.Spec.PriorityClassName = "system-node-critical"
	require.Zero(t, Priority(pod), "the name of the class does not count")
}
