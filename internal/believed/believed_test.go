package believed_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/believed"
	"github.com/podberth/podberth/internal/testkit"
)

func budget(value intstr.IntOrString, status policyv1.PodDisruptionBudgetStatus) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "default"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &value, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}},
		Status:     status,
	}
}

// What budgets say of controllers that are not in the input, and what they cannot say.
func TestScale(t *testing.T) {
	one, half, three := intstr.FromInt32(1), intstr.FromString("50%"), int32(3)
	expects := policyv1.PodDisruptionBudgetStatus{ExpectedPods: 5}
	failed := policyv1.PodDisruptionBudgetStatus{ExpectedPods: 5, Conditions: []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Reason: policyv1.SyncFailedReason, Message: "rayclusters.ray.io does not implement the scale subresource"}}}
	number := budget(one, expects)
	number.Spec.MaxUnavailable, number.Spec.MinAvailable = nil, &one
	share := budget(one, expects)
	share.Spec.MaxUnavailable, share.Spec.MinAvailable = nil, &half
	pod := func(name, owner string) *v1.Pod {
		return testkit.Pod(name).Labels("app=a").Owner("example.com/v1", "Ray", owner).Obj()
	}
	alone := []*v1.Pod{pod("p1", "r"), pod("p2", "r")}
	two := append([]*v1.Pod{pod("p0", "s")}, alone...)
	set := testkit.Pod("k").Labels("app=a").Owner("apps/v1", "ReplicaSet", "web").Obj()
	type test struct {
		name   string
		budget *policyv1.PodDisruptionBudget
		pods   []*v1.Pod
		want   int32 // of the controller r
		err    string
		why    string
	}
	testkit.Run(t, []test{
		{"no budget", nil, alone, 2, "", "as many as run"},
		{"a status", budget(one, expects), alone, 5, "", "the disruption controller counted them"},
		{"a share", share, alone, 5, "", "a share of minAvailable needs the scale too"},
		{"no status", budget(one, policyv1.PodDisruptionBudgetStatus{}), alone, 2, "", "nothing was expected yet"},
		{"a number", number, alone, 2, "", "minAvailable as a number expects the pods that are there"},
		{"two controllers", budget(one, expects), two, 2, "", "the first of them makes up the difference"},
		{"beside a known controller", budget(one, expects), append([]*v1.Pod{set}, alone...), 2, "", "the sum says nothing of one of them"},
		{"a share beside a known controller", share, []*v1.Pod{alone[0], set, alone[1]}, 2, "", "whichever pod comes first, the sum says nothing of one of them"},
		{"a failed sync", budget(one, failed), alone, 0, "rayclusters.ray.io does not implement the scale subresource", "the next sync fails too"},
		{"a failed sync beside a known controller", budget(one, failed), append([]*v1.Pod{set}, alone...), 0, "rayclusters.ray.io does not implement the scale subresource", "it is not the known one that fails"},
	}, func(t *testing.T, c test) {
		unknown := map[believed.Controller]int32{}
		for _, p := range c.pods {
			if owner, _ := believed.Of(p); owner.Kind == "Ray" {
				unknown[owner]++
			}
		}
		var budgets []*policyv1.PodDisruptionBudget
		if c.budget != nil {
			budgets = append(budgets, c.budget)
		}
		ref := metav1.GetControllerOf(set)
		known := disruption.NewScale([]disruption.Workload{{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "default", Name: "web", UID: ref.UID, Replicas: &three}})
		scale := believed.Scale(known, unknown, budgets, c.pods)
		last := c.pods[len(c.pods)-1]
		_, n, err := scale(last, *metav1.GetControllerOf(last))
		if c.err != "" {
			require.EqualError(t, err, c.err, c.why)
			return
		}
		require.NoError(t, err)
		require.Equal(t, c.want, n, c.why)
		_, n, err = scale(set, *ref)
		require.NoError(t, err)
		require.Equal(t, three, n, "what is known stays")
		if c.name == "two controllers" {
			_, n, err = scale(c.pods[0], *metav1.GetControllerOf(c.pods[0]))
			require.NoError(t, err)
			require.Equal(t, int32(3), n)
		}
	})
	_, ok := believed.Of(testkit.Pod("bare").Obj())
	require.False(t, ok)
}

// Controllers differ by kind and by name: a budget that covers two of them adds up what both want.
func TestScaleTellsControllersApart(t *testing.T) {
	owner := func(kind, name string) metav1.OwnerReference { return metav1.OwnerReference{Kind: kind, Name: name} }
	list := []metav1.OwnerReference{owner("Ray", "a"), owner("Ray", "b"), owner("Job", "a")}
	unknown := map[believed.Controller]int32{}
	for _, o := range list {
		unknown[believed.Controller{Namespace: "default", Kind: o.Kind, Name: o.Name}] = 1
	}
	scale := believed.Scale(nil, unknown, nil, nil)
	uids := map[types.UID]bool{}
	for _, o := range list {
		uid, n, err := scale(testkit.Pod("p").Obj(), o)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		uids[uid] = true
	}
	require.Len(t, uids, 3)
}
