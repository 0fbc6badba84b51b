package page

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// A node is marked when it is cordoned, not ready, or has taints.
func TestMarks(t *testing.T) {
	n := testkit.Node("n").Obj()
	require.Empty(t, marks(n))
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeMemoryPressure, Status: v1.ConditionFalse}, {Type: v1.NodeReady, Status: v1.ConditionTrue}}
	require.Empty(t, marks(n))
	n.Status.Conditions[1].Status = v1.ConditionUnknown
	require.Equal(t, "not ready", marks(n))
	n.Spec.Unschedulable, n.Spec.Taints = true, []v1.Taint{testkit.Taint("a=b:NoSchedule"), testkit.Taint("c:NoExecute")}
	require.Equal(t, "cordoned, not ready, taint a=b:NoSchedule, taint c:NoExecute", marks(n))
}
