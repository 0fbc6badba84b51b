package optimal_test

import (
	"fmt"
	"math/rand/v2"
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

// Gangs of unequal pods, with few steps, quorums and budgets, and what becomes of the victims of their first pod, in short.
func TestEveryGang(t *testing.T) {
	var out strings.Builder
	for part := range uint64(40) {
		h, placed, back := testkit.Hash32(t, part), 0, 0
		for k := range uint64(12) {
			r := rand.New(rand.NewPCG(part*12+k, 43))
			s := chance(r, k%3 == 0)
			if k%2 == 0 {
				s = dense(r)
			}
			yes := true
			for _, p := range s.pods {
				if kind := []string{"", "ReplicaSet", "ReplicaSet", "DaemonSet"}[r.IntN(4)]; kind != "" {
					p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: fmt.Sprint("owner", r.IntN(3)), Controller: &yes}}
				}
			}
			var pods []*v1.Pod
			for n := range 1 + r.IntN(4) {
				q := s.pod.DeepCopy()
				q.Name = fmt.Sprintf("g%d", n)
				if r.IntN(3) == 0 {
					priority := int32(r.IntN(4))
					q.Spec.Priority = &priority
				}
				if r.IntN(3) == 0 {
					q.Spec.Containers[0].Resources.Requests["cpu"] = testkit.Resources(fmt.Sprintf("cpu=%dm", 300+100*r.IntN(10)))["cpu"]
				}
				if r.IntN(12) == 0 {
					q = polite(q)
				}
				pods = append(pods, q)
			}
			o := draw(r)
			if r.IntN(3) == 0 {
				o.Quorum = optimal.Quorums(s.pods, func(owner *metav1.OwnerReference, n int) int { return n - 2 })
			}
			if r.IntN(4) == 0 {
				o.Steps = 1 + r.IntN(12)
			}
			p, err := optimal.PlaceGang(s.gang(t, pods...), o)
			require.NoError(t, err)
			fmt.Fprintln(h, p.Violations, p.Minimal, shownGang(p))
			if p.Placed {
				placed++
			}
			snapshot, comeback := s.comeback(t)
			with := search(t, optimal.Options{Order: []optimal.Criterion{optimal.Cost, optimal.HighestPriority, optimal.Victims}, Cost: comeback.Cost(optimal.Costs{Homeless: 2, DaemonSet: 5})})
			s.cluster = snapshot
			got := s.preempt(t, with.Options(s.options))
			if got == nil || got.Outcome != preemption.Success {
				continue
			}
			fates, err := comeback.After(s.pod, got.Candidate, placement.PreemptOptions{Budgets: disruption.NewBudgets(s.budgets, disruption.BudgetOptions{}), Now: now})
			require.NoError(t, err)
			back++
			fmt.Fprintln(h, shown(got), with.Proof())
			for _, x := range fates {
				fmt.Fprintln(h, x.Pod.Name, x.Fate, x.Node, x.By.Name, x.Why)
			}
		}
		fmt.Fprintf(&out, "%d: %d gangs placed, %d comebacks, %08x\n", part, placed, back, h.Sum32())
		require.Greater(t, placed+back, 4)
	}
	testkit.Golden(t, "testdata/every_gang.txt", out.String())
}
