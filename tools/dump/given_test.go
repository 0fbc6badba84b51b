package dump

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/testkit"
)

// What is asked of the objects changes none of their lists, even where these have room for more.
func TestQuestionsChangeNoLists(t *testing.T) {
	o := &Objects{}
	o.PriorityClasses = make([]*schedulingv1.PriorityClass, 0, 8)
	o.Namespaces = make([]*v1.Namespace, 0, 8)
	o.Pods = []*v1.Pod{testkit.Pod("shop/p").Obj()}
	require.Len(t, o.AllPriorityClasses(), 2)
	require.Len(t, o.namespaces(), 1)
	require.Nil(t, o.PriorityClasses[:1][0])
	require.Nil(t, o.Namespaces[:1][0])

	refused := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "Not A Name"}}
	o.PodGroups = []*schedulingv1beta1.PodGroup{refused}
	require.Empty(t, accepted(o, o.PodGroups))
	require.Equal(t, []*schedulingv1beta1.PodGroup{refused}, o.PodGroups)
}

// A budget whose pods have an owner that the dump lacks: its status says how many pods it expects, or nothing does.
func TestUnknownOwners(t *testing.T) {
	for expected, want := range map[int32]string{
		0: "PodDisruptionBudget shop/b: how many pods it expects is not known, as many as run are taken: ",
		3: "PodDisruptionBudget shop/b: how many pods it expects is taken from its status: ",
	} {
		o := &Objects{}
		half := intstr.FromString("50%")
		o.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "b"},
			Spec:   policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &half, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
			Status: policyv1.PodDisruptionBudgetStatus{ExpectedPods: expected}}}
		o.Pods = []*v1.Pod{testkit.Pod("shop/p").Labels("app=web").Owner("example.com/v1", "Game", "g").On("n").Obj()}
		o.Warnings.All = true
		o.WarnOfUnknownOwners()
		require.Contains(t, strings.Join(o.Warnings.Lines(), "\n"), want)
	}
}
