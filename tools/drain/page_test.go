package drain

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// What the page of a drain shows is asserted whole.
func TestPage(t *testing.T) {
	for name, args := range map[string][]string{"waves": append([]string{"node-a1", "gpu-a1"}, all...), "refused": {"node-a1"}} {
		_, out, errs := drain("", append([]string{"-f", shipped, "-o", "html", "-at", "2026-03-02T08:00:00Z"}, args...)...)
		require.NotEmpty(t, out, errs)
		testkit.GoldenPage(t, "testdata/"+name+".page", out)
	}
}

// The first step of a drain cordons a node: it has the taint once.
func TestCordoned(t *testing.T) {
	n := &v1.Node{}
	once := cordoned(n)
	require.Empty(t, n.Spec.Taints)
	require.False(t, n.Spec.Unschedulable)
	require.True(t, once.Spec.Unschedulable)
	require.Equal(t, []v1.Taint{{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}}, once.Spec.Taints)
	require.Equal(t, once, cordoned(once))
}
