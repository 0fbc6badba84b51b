package placement_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// protects returns a budget over the pods with label app=name that allows n disruptions.
func protects(name string, n int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: n},
	}
}

// Preempt follows the budgets of the snapshot when nobody names others: the protected pod stays, and a changed budget counts at once.
func TestBudgetsOfTheSnapshot(t *testing.T) {
	a := testkit.Pod("a").Request("cpu=2").Labels("app=a").Priority(1).On("n1").Obj()
	b := testkit.Pod("b").Request("cpu=2").Labels("app=b").Priority(1).On("n1").Obj()
	s, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=4").Obj()}, Pods: []*v1.Pod{a, b},
		PodDisruptionBudgets: []*policyv1.PodDisruptionBudget{protects("a", 0)},
	})
	require.NoError(t, err)
	placer, err := placement.NewPlacer(s, placement.DefaultProfile())
	require.NoError(t, err)
	pod := testkit.Pod("new").Request("cpu=2").Priority(10).Obj()
	victim := func(po placement.PreemptOptions) (string, int64) {
		d := placer.Decide(pod, placement.Options{})
		require.False(t, d.Placed())
		po.Now = time.Unix(0, 0)
		r := placer.Preempt(pod, d.Failure, placement.Options{}, po)
		require.Len(t, r.Candidate.Victims, 1)
		return r.Candidate.Victims[0].Pod.Name, r.Candidate.Violations
	}
	check := func(name string, violations int64, po placement.PreemptOptions) {
		t.Helper()
		who, broken := victim(po)
		require.Equal(t, name, who)
		require.Equal(t, violations, broken)
	}
	check("b", 0, placement.PreemptOptions{})
	require.NoError(t, s.Set(protects("b", 0)))
	require.NoError(t, s.Set(protects("a", 1)))
	check("a", 0, placement.PreemptOptions{})
	mark := s.Mark()
	require.NoError(t, s.Remove(protects("b", 0)))
	require.NoError(t, s.Set(protects("a", 0)))
	check("b", 0, placement.PreemptOptions{})
	s.Rollback(mark)
	check("a", 0, placement.PreemptOptions{})
	none := disruption.NewBudgets(nil, disruption.BudgetOptions{})
	who, broken := victim(placement.PreemptOptions{Budgets: none})
	require.Zero(t, broken)
	require.NoError(t, s.Set(protects("a", 0)))
	check(who, 0, placement.PreemptOptions{Budgets: none})
}
