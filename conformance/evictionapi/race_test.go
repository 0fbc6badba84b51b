package evictionapi_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/eviction/disruption"
)

// TestRace evicts six pods of one budget at the same moment. Who goes is up to the server; that order, played by podberth one
// after the other, gives every answer and the status in the end.
func TestRace(t *testing.T) {
	s := start(t)
	pick := func(name string) *v1.Pod {
		return &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "u1", Labels: map[string]string{"l": "1"}},
			Spec:       v1.PodSpec{NodeName: "node", Containers: []v1.Container{{Name: "c", Image: "i"}}},
			Status:     v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}}
	}
	for _, allowed := range []int32{0, 1, 3, 6} {
		b := &policyv1.PodDisruptionBudget{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "b", UID: "b", Generation: 1},
			Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"l": "1"}}},
			Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: allowed, CurrentHealthy: 6, DesiredHealthy: 6 - allowed, ExpectedPods: 6}}
		objects := map[string]any{budgetKey("b"): b}
		var pods []*v1.Pod
		for i := range 6 {
			pods = append(pods, pick(fmt.Sprint("race", i)))
			objects[podKey(pods[i].Name)] = pods[i]
		}
		_, err := s.store(objects)
		require.NoError(t, err)
		answers, errs := make([]answer, len(pods)), make([]error, len(pods))
		var all sync.WaitGroup
		for i, p := range pods {
			all.Go(func() {
				answers[i], errs[i] = s.post("/api/v1/namespaces/"+namespace+"/pods/"+p.Name+"/eviction", policyv1.Eviction{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"}, ObjectMeta: metav1.ObjectMeta{Name: p.Name}})
			})
		}
		all.Wait()
		e := disruption.NewEvictions([]*policyv1.PodDisruptionBudget{b})
		play := func(code int) {
			for i, p := range pods {
				require.NoError(t, errs[i])
				if answers[i].code != code {
					continue
				}
				d := e.Evict(p, disruption.Request{Release: trial.Linked}, time.Now())
				mine, real := d.StatusObject(), metav1.Status{}
				require.NoError(t, json.Unmarshal(answers[i].body, &real))
				real.ListMeta = metav1.ListMeta{}
				require.Equal(t, real, mine)
			}
		}
		play(201)
		play(429)
		stored, err := s.load(budgetKey("b"))
		require.NoError(t, err)
		real, mine := stored.(*policyv1.PodDisruptionBudget).Status, e.Budgets()[0].Status
		require.EqualValues(t, 0, real.DisruptionsAllowed)
		require.Len(t, real.DisruptedPods, int(allowed))
		for _, status := range []*policyv1.PodDisruptionBudgetStatus{&real, &mine} {
			for name := range status.DisruptedPods {
				status.DisruptedPods[name] = metav1.Time{}
			}
			for i := range status.Conditions {
				status.Conditions[i].LastTransitionTime = metav1.Time{}
			}
		}
		require.Equal(t, text(real), text(mine))
	}
}
