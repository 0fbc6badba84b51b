package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
)

// What is kept for equal preemptors changes no answer, whatever happens to the cluster in between.
func TestKeptPreemptors(t *testing.T) {
	seeds := 80
	if testing.Short() {
		seeds = 50
	}
	kept, found := 0, 0
	for seed := range seeds {
		k, f := playPreemptors(t, &world{r: rand.New(rand.NewPCG(uint64(seed), 4))}, fmt.Sprint("seed ", seed), 60)
		kept, found = kept+k, found+f
	}
	require.Greater(t, kept, seeds*2, "questions that found something kept")
	require.Greater(t, found, seeds, "with victims")
}

func FuzzKeptPreemptors(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 2000), uint8(40))
	f.Fuzz(func(t *testing.T, data []byte, steps uint8) {
		playPreemptors(t, &world{r: rand.New(testkit.NewBytes(data))}, "fuzz", int(steps%12))
	})
}

// playPreemptors changes a cluster at random and asks a plan and a new plan for victims. It returns how often something was kept
// from an earlier question, and how often there were victims then.
func playPreemptors(t *testing.T, w *world, name string, steps int) (kept, found int) {
	r := w.r
	nodes := 3 + r.IntN(5)
	s := w.snapshot(t, nodes, 0)
	plan := w.plan(t, s, benchProfile())
	var running []*v1.Pod
	run := func() {
		p := w.pod(r.IntN(30))
		p.Spec.Priority = new(int32)
		*p.Spec.Priority = int32(r.IntN(2) * (1 + r.IntN(4)))
		p.Labels["budget"] = w.pick("one", "two", "none")
		if !w.chance(4) {
			at := metav1.NewTime(time.Unix(int64(1000+r.IntN(8)), 0))
			p.Status.StartTime = &at
		}
		require.NoError(t, s.Assume(p, int(s.Order()[r.IntN(len(s.Order()))])))
		running = append(running, p)
	}
	for range 6 * nodes {
		run()
	}
	budgets := w.budgets()
	base, shapes := r.IntN(30), 1+r.IntN(3)
	for step := range steps {
		switch r.IntN(24) {
		case 0:
			budgets = w.budgets()
		case 1:
			require.NoError(t, s.Set(w.node(fmt.Sprintf("n%d", r.IntN(nodes+2)))))
		case 2:
			n := s.Node(int(s.Order()[r.IntN(len(s.Order()))])).DeepCopy()
			n.Labels["revision"] = fmt.Sprint(step)
			n.Spec.Unschedulable = w.chance(2)
			require.NoError(t, s.Set(n))
		case 3, 4:
			run()
		case 5, 6:
			if k := len(running) - 1; k >= 0 {
				at := r.IntN(k + 1)
				require.NoError(t, s.Remove(running[at]))
				running[at], running = running[k], running[:k]
			}
		case 7:
			ns := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{"env": w.pick("other", "test")}}}
			require.NoError(t, s.Set(ns))
		case 8:
			require.NoError(t, s.Set(storageClass("any", w.pick("one", "two"))))
		case 9:
			require.NoError(t, s.Set(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "any"}}))
		default:
			p := w.pod(base + r.IntN(shapes))
			p.Spec.Priority = new(int32)
			*p.Spec.Priority = int32(3 + r.IntN(2))
			p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = testkit.Resources("cpu=2")[v1.ResourceCPU]
			d := plan.Decide(p, Options{})
			if d.Placed() {
				require.NoError(t, s.Assume(p, d.Slot))
				running = append(running, p)
				continue
			}
			one := int32(1 + r.IntN(3))
			o := PreemptOptions{Budgets: budgets, Now: time.Unix(int64(1000+r.IntN(10)), 0), Options: preemption.Options{Offset: r.IntN(9)}}
			if w.chance(2) {
				o.Candidates = preemption.CandidateArgs{MinPercentage: new(int32), MinAbsolute: &one}
			}
			if w.chance(4) {
				o.CrossNode = &preemption.CrossNode{Max: 2}
			}
			before := plan.keeps(p)
			got := plan.Preempt(p, d.Failure, Options{}, o)
			fresh, err := New(s, benchProfile())
			require.NoError(t, err)
			require.Equal(t, fresh.Preempt(p, nil, Options{}, o), got, "%s step %d", name, step)
			if before {
				kept++
				if got.Node != "" {
					found++
				}
			}
		}
	}
	return kept, found
}

// keeps reports whether the plan has kept something for preemptors like the pod whose decision failed last.
func (p *Plan) keeps(pod *v1.Pod) bool {
	if p.preempter == nil {
		return false
	}
	return p.preempter.preemptors.kinds[preemptorKind{p.Failed(p.failure).kind.Pods, *pod.Spec.Priority}] != nil
}

func (w *world) budgets() *disruption.Budgets {
	var list []*policyv1.PodDisruptionBudget
	for _, name := range []string{"one", "two"} {
		for _, namespace := range []string{"default", "other"} {
			b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"budget": name}}
			b.Status.DisruptionsAllowed = int32(w.r.IntN(2))
			list = append(list, b)
		}
	}
	return disruption.NewBudgets(list, disruption.BudgetOptions{})
}
