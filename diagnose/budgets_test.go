package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A remedy says which budget allows nothing once its pods have left, and which one preemption breaks.
func TestEmptiedBudgets(t *testing.T) {
	type test struct {
		name, why string
		allows    int32
		evicts    bool
		changes   []Change
		want      []string
	}
	testkit.Run(t, []test{
		{"more is allowed", "one is left", 2, true, nil, nil},
		{"no more is allowed", "it took the last one", 1, true, nil, []string{"budget default/web then allows no eviction until they are ready again"}},
		{"preemption asks no budget", "it takes what is not allowed", 0, false, nil, []string{"budget default/web is broken"}},
		{"raised", "another change says so", 0, true, []Change{{Kind: RaiseBudget, Object: "PodDisruptionBudget default/web"}}, nil},
	}, func(t *testing.T, c test) {
		pdb := budget("web", "web", c.allows)
		pod := testkit.Pod("a").Labels("app=web").On("n1").Obj()
		s, err := cluster.New(cluster.Objects{Nodes: five(), Pods: []*v1.Pod{pod}, PodDisruptionBudgets: []*policyv1.PodDisruptionBudget{pdb}})
		require.NoError(t, err)
		require.Equal(t, c.want, budgetsOf(s).emptied(append(c.changes, Change{Kind: MovePods, remove: []*v1.Pod{pod}, evicts: c.evicts})))
	})
}
