package lint

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/testkit"
)

// The rules about budgets compare each budget with each workload once. When every two budgets were compared over all workloads,
// 500 nodes with 150 budgets took 40 s.
func TestManyBudgets(t *testing.T) {
	var in Input
	for i := range 15000 {
		p := testkit.Pod(fmt.Sprint("p", i)).Labels(fmt.Sprint("app=", i%150)).Obj()
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "App", Name: "a", UID: "a", Controller: new(true)}}
		in.Pods = append(in.Pods, p)
	}
	one := intstr.FromInt32(1)
	for i := range 150 {
		in.Budgets = append(in.Budgets, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("b", i), Namespace: "default"},
			Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint(i)}}}})
	}
	c := &checker{in: in}
	require.NoError(t, c.read())
	began := testkit.ProcessorTime(t)
	for _, b := range in.Budgets {
		for i := range budgetRules {
			c.rule = &budgetRules[i]
			budgetRules[i].budget(c, b)
		}
	}
	require.Less(t, testkit.ProcessorTime(t)-began, 4*time.Second)
	require.Empty(t, c.out)
}
