package dump

import (
	"testing"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/testkit"
)

// An empty selector matches every pod in policy/v1 and no pod in policy/v1beta1. The first budget that is refused is named.
func TestCheckBudgets(t *testing.T) {
	budget := func(version string, s *metav1.LabelSelector, least int) *policyv1.PodDisruptionBudget {
		n := intstr.FromInt(least)
		b := &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{Selector: s, MinAvailable: &n}}
		b.APIVersion, b.Namespace, b.Name = version, "shop", "web"
		return b
	}
	type test struct {
		name, version string
		selector      *metav1.LabelSelector
		matches       bool
	}
	testkit.Run(t, []test{
		{"all of v1", "policy/v1", &metav1.LabelSelector{}, true},
		{"none of v1beta1", "policy/v1beta1", &metav1.LabelSelector{}, false},
		{"some of v1beta1", "policy/v1beta1", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, true},
	}, func(t *testing.T, c test) {
		b := budget(c.version, c.selector, 1)
		o := &Objects{PodDisruptionBudgets: []*policyv1.PodDisruptionBudget{b}}
		require.NoError(t, o.CheckBudgets())
		s, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		require.NoError(t, err)
		require.Equal(t, c.matches, s.Matches(labels.Set{"app": "web"}))
	})
	bad := &Objects{PodDisruptionBudgets: []*policyv1.PodDisruptionBudget{budget("policy/v1", nil, 1), budget("policy/v1", nil, -1)}}
	require.EqualError(t, bad.CheckBudgets(), "PodDisruptionBudget shop/web: spec.minAvailable: Invalid value: -1: must be greater than or equal to 0")
	given := bad.PodDisruptionBudgets
	refused := bad.TakeRefusedBudgets()
	require.NotContains(t, given, (*policyv1.PodDisruptionBudget)(nil), "the list that the caller has stays")
	require.Len(t, refused, 1)
	require.EqualError(t, refused["PodDisruptionBudget shop/web"][0], "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0")
	require.Len(t, bad.PodDisruptionBudgets, 1)
	require.NoError(t, bad.CheckBudgets())
}
