package placement

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
)

// All that a plan says about pods of random clusters: the decision in words, the table of all nodes, the choice between the best
// nodes and the room for replicas by hash, and who leaves for a pod that finds no node.
func TestAnswers(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(60) {
		w := &world{r: rand.New(rand.NewPCG(seed, 47))}
		s := w.snapshot(t, 3+w.r.IntN(8), w.r.IntN(40))
		for i := range s.Len() {
			for p := range s.Pods(i) {
				priority := int32(w.r.IntN(4) - 2)
				p.Spec.Priority = &priority
			}
		}
		least := metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
		budgets := disruption.NewBudgets([]*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"},
			Spec: policyv1.PodDisruptionBudgetSpec{Selector: &least}, Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(w.r.IntN(2))}}}, disruption.BudgetOptions{})
		p, err := NewPlacer(s, DefaultProfile())
		require.NoError(t, err)
		for k := range 4 {
			pod := w.pod(w.r.IntN(30))
			priority := int32(w.r.IntN(4))
			pod.Spec.Priority = &priority
			if k == 3 {
				pod.Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=3,memory=2Gi")
			}
			o := w.options(s, pod)
			d := p.Decide(pod, o)
			table, err := p.Table(pod)
			require.NoError(t, err)
			room, err := p.HowMany(pod, func(placed int) bool { return placed < 5 })
			require.NoError(t, err)
			fmt.Fprintf(&out, "%d %s %s: %s; table %s, room %s", seed, pod.Namespace, pod.Name, text(d), hash(t, table), hash(t, room.Nodes))
			if d.Placed() {
				choice, err := p.Choice(pod, d.Slot)
				fmt.Fprintf(&out, ", choice %s %v", hash(t, choice), err)
				require.NoError(t, p.Assume(pod, d))
			} else {
				po := PreemptOptions{Budgets: budgets, Now: testkit.Epoch}
				if w.chance(2) {
					po.Options.CrossNode = &preemption.CrossNode{}
				}
				r := p.Preempt(pod, d.Failure, o, po)
				fmt.Fprintf(&out, "; preemption %v %s %s", r.Outcome, r.Node, r.Message)
				for _, v := range r.Victims {
					fmt.Fprintf(&out, " %s %t", nameOf(v.Pod), v.Violates)
				}
			}
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "  violations %s, warnings %v\n", hash(t, p.Violations()), p.Warnings())
	}
	testkit.Golden(t, "testdata/answers.golden", out.String())
}

// hash returns a short name of what a value is in JSON.
func hash(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	h := fnv.New32a()
	h.Write(text)
	return fmt.Sprintf("%08x", h.Sum32())
}
