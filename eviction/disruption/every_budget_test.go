package disruption

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/testkit"
)

// TestEveryBudget tests the option for pods that several budgets cover: all budgets must allow the eviction, and each loses
// a unit.
func TestEveryBudget(t *testing.T) {
	every := Request{EveryBudget: true}
	named := func(name string, allowed, current, desired, expected int32) *policyv1.PodDisruptionBudget {
		b := counted(allowed, current, desired, expected)
		b.Name = name
		return b
	}
	type test struct {
		name, why string
		pod       *v1.Pod
		pdbs      []*policyv1.PodDisruptionBudget
		code      int32
		cause     string
		charged   []string
		outlook   string
		bypass    string
	}
	testkit.Run(t, []test{
		{"both allow", "a unit of each", target(), []*policyv1.PodDisruptionBudget{named("a", 1, 3, 2, 3), named("b", 2, 4, 2, 4)}, 201, "", []string{"a", "b"}, outlookNow, ""},
		{"the second refuses", "nothing is booked", target(), []*policyv1.PodDisruptionBudget{named("a", 1, 3, 2, 3), named("b", 0, 2, 2, 3)}, 429,
			"The disruption budget b needs 2 healthy pods and has 2 currently", nil, outlookNotNow, ""},
		{"the second never allows", "its numbers count, not those of the first", target(), []*policyv1.PodDisruptionBudget{named("a", 1, 3, 2, 3), named("b", 0, 3, 3, 3)}, 429,
			"The disruption budget b needs 3 healthy pods and has 3 currently", nil, outlookNever, ""},
		{"both let unhealthy pods go", "none is asked", unready(target()), []*policyv1.PodDisruptionBudget{named("a", 0, 2, 2, 3), named("b", 0, 2, 2, 3)}, 201, "", nil, outlookNow, "Unhealthy"},
		{"one lets unhealthy pods go", "the other is asked", unready(target()), []*policyv1.PodDisruptionBudget{named("a", 0, 2, 2, 3), named("b", 1, 1, 2, 3)}, 201, "", []string{"b"}, outlookNow, ""},
		{"one budget", "as without the option", target(), []*policyv1.PodDisruptionBudget{named("a", 1, 3, 2, 3)}, 201, "", []string{"a"}, outlookNow, ""},
	}, func(t *testing.T, c test) {
		var d Decision
		testkit.Unchanged(t, func() { d = Decide(c.pod, c.pdbs, every, now) }, c.pdbs...)
		require.Equal(t, []any{c.code, c.cause, c.outlook, c.bypass}, []any{d.Code, d.Cause, d.Outlook(), d.Bypass})
		var charged []string
		for _, x := range d.Charges {
			charged = append(charged, x.Budget.Name)
			require.Equal(t, x.Budget.Status.DisruptionsAllowed-1, x.Status.DisruptionsAllowed)
			require.Contains(t, x.Status.DisruptedPods, "p")
		}
		require.Equal(t, c.charged, charged)
		require.Equal(t, d.Allowed(), len(d.Remedies()) == 0)

		e := NewEvictions(c.pdbs)
		e.Evict(c.pod, every, now)
		for i, b := range e.Budgets() {
			lost := c.pdbs[i].Status.DisruptionsAllowed - b.Status.DisruptionsAllowed
			require.Equal(t, int32(boolean(slices.Contains(charged, b.Name))), lost, "%s is booked", b.Name)
		}
	})
	t.Run("dry run", func(t *testing.T) {
		d := Decide(target(), []*policyv1.PodDisruptionBudget{named("a", 1, 3, 2, 3), named("b", 2, 4, 2, 4)}, Request{EveryBudget: true, DryRun: []string{"All"}}, now)
		require.True(t, d.Allowed())
		require.Empty(t, d.Charges)
	})
}

// With the option a plan evicts a pod of two budgets in the first wave that both budgets allow. When a budget never allows
// it, the proof names that budget.
func TestPlanEveryBudget(t *testing.T) {
	leaving := []*v1.Pod{healthyPod("a1", "ReplicaSet/a"), healthyPod("a2", "ReplicaSet/a")}
	for _, p := range leaving {
		p.Spec.NodeName = "n1"
	}
	other := healthyPod("a3", "ReplicaSet/a")
	other.Spec.NodeName = "n2"
	one, two := pdb("one", "app=x", 0), pdb("two", "app=x", 0)
	one.Spec.MinAvailable, two.Spec.MinAvailable = ptr(intstr.FromInt32(1)), ptr(intstr.FromInt32(2))
	in := PlanInput{Nodes: []string{"n1"}, Pods: append(leaving, other), Budgets: []*policyv1.PodDisruptionBudget{one, two}, Now: now}
	require.Empty(t, MakePlan(in).Waves, "1.36: 500")
	in.EveryBudget = true
	require.Equal(t, [][]string{{"a1"}, {"a2"}}, wavesOf(MakePlan(in)), "the stricter budget decides")
	two.Spec.MinAvailable = ptr(intstr.FromInt32(3))
	plan := MakePlan(in)
	require.Empty(t, plan.Waves)
	require.Equal(t, "budget default/two demands 3 healthy pods of 3 expected: 3 - 3 leaves none to disrupt", plan.Blocked[0].Proof)
	require.Equal(t, []string{"default/one", "default/two"}, plan.Blocked[0].Budgets)
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A grace period longer than the longest duration becomes the longest duration: no step has a negative time.
func TestStepsOfHugeGrace(t *testing.T) {
	for _, grace := range []int64{9223372037, 10000000000, math.MaxInt64} {
		p := target()
		p.Spec.NodeName, p.Spec.TerminationGracePeriodSeconds = "n", &grace
		d := Decide(p, nil, Request{}, now)
		steps := d.Steps(p)
		require.EqualValues(t, math.MaxInt64, steps[5].After)
		require.EqualValues(t, math.MaxInt64, steps[1].Until)
	}
}

// A drain of many pods under many budgets looks only at the budgets that the labels of each pod find.
func TestPlanOfManyBudgets(t *testing.T) {
	in := PlanInput{Nodes: []string{"n"}, Now: now}
	for i := range 1000 {
		b := pdb(fmt.Sprint("b", i), fmt.Sprint("app=", i), 0)
		b.Spec.MinAvailable = ptr(intstr.FromInt32(1))
		in.Budgets = append(in.Budgets, b)
		for j := range 2 {
			p := healthyPod(fmt.Sprintf("p%d-%d", i, j), "ReplicaSet/a")
			p.Labels, p.Spec.NodeName = map[string]string{"app": fmt.Sprint(i)}, "n"
			in.Pods = append(in.Pods, p)
		}
	}
	plan := MakePlan(in)
	require.Len(t, plan.Waves, 2)
	require.Len(t, plan.Waves[0], 1000)
	require.Len(t, plan.Waves[1], 1000)
	matched := 0
	for _, list := range NewEvictions(in.Budgets).matching(in.Pods) {
		matched += len(list)
	}
	require.Equal(t, 2000, matched)
}
