package disruption

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Pods of a unit leave in one wave, from whatever node, or all of them stay.
func TestUnits(t *testing.T) {
	type test struct {
		name, why string
		budgets   []*policyv1.PodDisruptionBudget
		change    func(in *PlanInput)
		want      []string
		cause     string // of the first blocked pod
		proof     string
		waiting   bool
	}
	same := func(*PlanInput) {}
	testkit.Run(t, []test{
		{"whole", "g3 stands on another node and leaves too", nil, same, []string{"a1 g1 g2 g3 "}, "", "", false},
		{"one budget for all", "as many may leave as the unit has", []*policyv1.PodDisruptionBudget{budget("g", "app=g", "0", "")}, same, []string{"a1 g1 g2 g3 "}, "", "", false},
		{"a budget that never lets all leave", "nobody of the unit leaves, and the others do", []*policyv1.PodDisruptionBudget{budget("g", "app=g", "1", "")}, same,
			[]string{"a1 ", "!g1", "!g2", "!g3"}, "unit leaves whole or not at all; pod default/g3: ", "budget default/g lets at most 2 of 3 pods leave at once, and unit has 3 of them", false},
		{"a budget that is used up", "the units of the refused unit come back to the pod that is alone", []*policyv1.PodDisruptionBudget{budget("all", "{}", "2", "")}, func(in *PlanInput) {
			in.Pods[0].Name = "z1" // asked after the unit
		}, []string{"z1 ", "!g1", "!g2", "!g3"}, "unit leaves whole or not at all; pod default/g2: ", "budget default/all lets at most 1 of 3 pods leave at once, and unit has 3 of them", false},
		{"room later", "a pod of the budget that is not ready may become ready", []*policyv1.PodDisruptionBudget{budget("all", "{}", "1", "")}, func(in *PlanInput) {
			in.Nodes = []string{"m"}
			in.Pods[0].Status.Conditions = nil
		}, []string{"!g1", "!g2", "!g3"}, "unit leaves whole or not at all; pod default/g3: ", "", true},
		{"a pod that no drain takes", "its unit stays", nil, func(in *PlanInput) { in.Pods[3].OwnerReferences = nil },
			[]string{"a1 ", "!g1", "!g2"}, "unit leaves only together with pod default/g3: " + unmanagedRefused, "", false},
		{"a refused pod of the node", "its node is not drained, and the rest of its unit stays", nil, func(in *PlanInput) {
			in.Nodes = []string{"n", "m"}
			in.Pods[3].OwnerReferences = nil
		}, []string{"a1 ", "!g3", "!g1", "!g2"}, unmanagedRefused, "", false},
		{"ended", "a pod that has finished is no part of the unit", nil, func(in *PlanInput) { in.Pods[3].Status.Phase = v1.PodSucceeded }, []string{"a1 g1 g2 "}, "", "", false},
		{"without eviction", "deleted together", []*policyv1.PodDisruptionBudget{budget("g", "app=g", "3", "")}, func(in *PlanInput) { in.Options.DisableEviction = true }, []string{"a1 g1 g2 g3 "}, "", "", false},
	}, func(t *testing.T, c test) {
		in := PlanInput{
			Nodes:   []string{"n"},
			Pods:    []*v1.Pod{on("n", "a1", "a", "ReplicaSet/a"), on("n", "g1", "g", "ReplicaSet/g"), on("n", "g2", "g", "ReplicaSet/g"), on("m", "g3", "g", "ReplicaSet/g")},
			Budgets: c.budgets, Now: now,
			Unit: func(pod *v1.Pod) string {
				if strings.HasPrefix(pod.Name, "g") {
					return "unit"
				}
				return ""
			},
		}
		c.change(&in)
		var asked []int
		in.Replace = func(pods []*v1.Pod) []Replacement {
			asked = append(asked, len(pods))
			return make([]Replacement, len(pods))
		}
		p := MakePlan(in)
		require.Equal(t, c.want, outline(p))
		require.Len(t, asked, len(p.Waves), "asked once for each wave")
		if c.cause != "" {
			require.Contains(t, p.Blocked[0].Cause, c.cause)
			require.Equal(t, c.proof, p.Blocked[0].Proof)
			require.Equal(t, c.waiting, p.Blocked[0].WaitingHelps)
		}
	})
}

// A pod of a unit that stays says which pod holds it and why, and what lets the whole unit leave.
func TestReasonsOfAUnit(t *testing.T) {
	in := PlanInput{
		Nodes: []string{"n", "m"},
		Pods:  []*v1.Pod{on("n", "g1", "g", "ReplicaSet/g"), on("m", "g2", "g", "")},
		Now:   now, Unit: func(*v1.Pod) string { return "unit" },
	}
	p := MakePlan(in)
	require.Equal(t, []string{"!g2", "!g1"}, outline(p))
	require.Equal(t, "unit leaves only together with pod default/g2: "+p.Blocked[0].Cause, p.Blocked[1].Cause)
	in.Pods[1] = on("m", "g2", "g", "ReplicaSet/g")
	in.Budgets = []*policyv1.PodDisruptionBudget{budget("g", "app=g", "1", "")}
	p = MakePlan(in)
	require.Equal(t, []string{"!g1", "!g2"}, outline(p))
	for _, b := range p.Blocked {
		require.Equal(t, []Remedy{{Text: "let budget default/g allow 2 disruptions, or make the group again with disruption mode Single"}}, b.Remedies)
	}
}

// Of a pod that is refused for a reason that a flag lifts, and that a budget never lets leave, both are said, in this order.
func TestBehindAFlag(t *testing.T) {
	in := PlanInput{Nodes: []string{"n"}, Pods: []*v1.Pod{on("n", "bare", "g", "")}, Budgets: []*policyv1.PodDisruptionBudget{budget("g", "app=g", "", "0")}, Now: now}
	p := MakePlan(in)
	require.Equal(t, []string{"!bare"}, outline(p))
	alone := in
	alone.Budgets = nil
	first := MakePlan(alone).Blocked[0].Cause
	require.Equal(t, unmanagedRefused, first)
	require.True(t, strings.HasPrefix(p.Blocked[0].Cause, first+"; and "), p.Blocked[0].Cause)
}
