package failures

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// Pods of one workload are in one group when they stay for one reason.
func TestReasonsOfGroups(t *testing.T) {
	one, two := &unit{kind: "ReplicaSet", name: "one"}, &unit{kind: "ReplicaSet", name: "two"}
	err := func(text string) *placement.Failure {
		return &placement.Failure{Err: errors.New(text), Code: filter.Error}
	}
	items := []item{
		{unit: one}, {unit: two},
		{unit: one, gate: "a"}, {unit: one, gate: "b"},
		{unit: one, refusal: errors.New("c")}, {unit: one, refusal: errors.New("d")},
		{unit: one, failure: err("e")}, {unit: one, failure: err("f")},
	}
	g := newGroups(&player{scene: scene{waits: map[*unit]string{one: "later", two: "later"}}})
	for round := range 2 {
		for k := range items {
			it := items[k]
			it.old = testkit.Pod("p").Obj()
			require.Equal(t, k, g.add(&it), "%d", round)
		}
	}
	causes := []Cause{}
	for _, x := range g.list {
		require.Len(t, x.Pods, 2)
		causes = append(causes, x.Cause)
	}
	require.Equal(t, []Cause{Order, Order, Gates, Gates, Refused, Refused, Other, Other}, causes)
	require.Equal(t, "later", g.list[0].Reason)
}

// A budget without a status gets its minimum from the pods of its controllers, a budget with a status keeps its own.
func TestMinimumOfBudgets(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2 n3", nil)
	w.app("free", "cpu=1", "n1 n2", nil)
	w.pod("Rollout", "x", "x-0", "n1", v1.PodTemplateSpec{})
	for _, name := range []string{"half", "known", "nobody"} {
		w.budget(name, "web", 0)
	}
	half := intstr.FromString("50%")
	for _, b := range w.objects.PodDisruptionBudgets {
		b.Spec.MinAvailable = &half
	}
	w.objects.PodDisruptionBudgets[1].Status = policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 3}
	w.objects.PodDisruptionBudgets[2].Spec.Selector.MatchLabels["app"] = "nobody"
	var got [][2]int32
	for _, b := range w.planner(t).budgets {
		got = append(got, [2]int32{b.desired, b.healthy})
	}
	require.Equal(t, [][2]int32{{2, 3}, {3, 3}, {0, 0}}, got)
}

// A workload of an unknown controller asks for the pods that run. A pod that waits is none of them.
func TestReplicasOfUnknownControllers(t *testing.T) {
	w := five("cpu=4")
	w.pod("Rollout", "x", "x-0", "n1", v1.PodTemplateSpec{})
	w.pod("Rollout", "x", "x-1", "n2", v1.PodTemplateSpec{})
	waits := w.pod("Rollout", "x", "x-2", "", v1.PodTemplateSpec{})
	w.objects.Pods, w.in.Pending = w.objects.Pods[:2], []*v1.Pod{waits}
	r := w.app("one", "cpu=1", "n3", nil)
	r.Spec.Replicas = nil
	u := w.planner(t).unitOf
	require.Equal(t, []int{2, 2}, []int{u[waits].want, u[waits].running})
	require.Equal(t, []int{1, 1}, []int{u[w.objects.Pods[2]].want, u[w.objects.Pods[2]].running}, "a ReplicaSet has one replica by default")
}

// The pods of a ReplicaSet or ReplicationController are admitted once, those of other controllers each.
func TestAdmittedOnce(t *testing.T) {
	x := five("cpu=4").planner(t).take()
	for _, kind := range []string{"ReplicaSet", "ReplicationController", "StatefulSet", "Job"} {
		w := five("cpu=4")
		first, err := x.admit(w.pod(kind, "web", "web-1", "", w.app("web", "cpu=1", "", nil).Spec.Template))
		require.NoError(t, err)
		second, err := x.admit(w.pod(kind, "web", "web-2", "", w.objects.ReplicaSets[0].Spec.Template))
		require.NoError(t, err)
		require.NotSame(t, first, second)
		alike := kind == "ReplicaSet" || kind == "ReplicationController"
		require.Equal(t, alike, x.admitted[unitKey{kind, "default", "web"}] != nil, kind)
		require.Equal(t, alike, first.Name == second.Name, kind)
	}
}
