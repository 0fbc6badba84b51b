package optimal_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
)

// What the search finds in random situations, and how much work it is: testdata/work.txt changes when a rule that saves work is lost.
// Of the situations only those in which the search branches have a line.
func TestWork(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 23))
		s := chance(r, seed%2 == 1)
		with := search(t, draw(r))
		got := s.preempt(t, with.Options(s.options))
		if p := with.Proof(); got != nil && p.Steps > 8 {
			fmt.Fprintf(&out, "%d. nodes %d, excluded %d, steps %d, bound %v: %s\n", seed, p.Nodes, p.Excluded, p.Steps, p.Bound, shown(got))
		}
	}
	testkit.Golden(t, "testdata/work.txt", out.String())
}

// The same in a crowded cluster, where most nodes need no search: between the questions a pod leaves its node and another comes.
func TestWorkInCrowds(t *testing.T) {
	var out strings.Builder
	for _, budgets := range []bool{false, true} {
		snapshot, pdbs := crowd(t, 12, 8, budgets)
		plan, err := placement.New(snapshot, placement.DefaultProfile())
		require.NoError(t, err)
		for _, o := range []optimal.Options{{}, {NeverViolate: true}, {Order: []optimal.Criterion{optimal.HighestPriority, optimal.Victims, optimal.Start}}} {
			with, r := search(t, o), rand.New(rand.NewPCG(3, 3))
			for round := range 24 {
				pod := testkit.Pod("p").Request(fmt.Sprintf("cpu=%dm,memory=%dMi", 100+r.IntN(900), 100+r.IntN(1500))).Priority(int32(10*r.IntN(5) + 5)).Obj()
				if d := plan.Decide(pod, placement.Options{}); !d.Placed() {
					got := plan.Preempt(pod, d.Failure, placement.Options{}, placement.PreemptOptions{Budgets: pdbs, Now: now, Options: with.Options(preemption.Options{})})
					p := with.Proof()
					fmt.Fprintf(&out, "%d: nodes %d, excluded %d, steps %d, bound %v: %s\n", round, p.Nodes, p.Excluded, p.Steps, p.Bound, shown(&got))
				}
				slot := r.IntN(12)
				pods := slices.Collect(snapshot.Pods(slot))
				old := pods[r.IntN(len(pods))]
				require.NoError(t, snapshot.Remove(old))
				next := old.DeepCopy()
				priority := int32(10 * r.IntN(5))
				next.Name, next.UID, next.Spec.Priority = old.Name+"+", "", &priority
				require.NoError(t, snapshot.Assume(next, slot))
			}
		}
	}
	testkit.Golden(t, "testdata/crowds.txt", out.String())
}

// Where gangs go in random situations, who leaves for them, and what becomes of the victims of a single pod.
func TestWorkOfGangs(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 37))
		s := chance(r, seed%2 == 1)
		yes := true
		for _, p := range s.pods {
			if kind := []string{"", "ReplicaSet", "ReplicaSet", "DaemonSet"}[r.IntN(4)]; kind != "" {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: "owner", Controller: &yes}}
			}
		}
		var pods []*v1.Pod
		for k := range 2 + r.IntN(3) {
			pods = append(pods, s.pod.DeepCopy())
			pods[k].Name = fmt.Sprintf("g%d", k)
		}
		p, err := optimal.PlaceGang(s.gang(t, pods...), draw(r))
		require.NoError(t, err)
		fmt.Fprintf(&out, "gang %d: violations %d, minimal %t, %s\n", seed, p.Violations, p.Minimal, shownGang(p))
		snapshot, back := s.comeback(t)
		with := search(t, optimal.Options{Order: []optimal.Criterion{optimal.Cost, optimal.HighestPriority, optimal.Victims}, Cost: back.Cost(optimal.Costs{Homeless: 2, DaemonSet: 5})})
		s.cluster = snapshot
		got := s.preempt(t, with.Options(s.options))
		if got == nil || got.Outcome != preemption.Success {
			continue
		}
		fates, err := back.After(s.pod, got.Candidate, placement.PreemptOptions{Budgets: disruption.NewBudgets(s.budgets, disruption.BudgetOptions{}), Now: now})
		require.NoError(t, err)
		fmt.Fprintf(&out, "one %d: steps %d, bound %v, %s;", seed, with.Proof().Steps, with.Proof().Bound, shown(got))
		for _, x := range fates {
			fmt.Fprintf(&out, " %s %s %s by %s", x.Pod.Name, x.Fate, x.Node, x.By.Name)
		}
		out.WriteByte('\n')
	}
	testkit.Golden(t, "testdata/gangs.txt", out.String())
}
