package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
)

// FuzzPlan holds laws over random clusters: the objects do not change, a second plan is equal, each node is replaced once or
// blocked, no replacement goes to a node that is being replaced, no budget falls below its minimum, and times never run back.
func FuzzPlan(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(testkit.RandomBytes(seed, 80))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		w := random(b)
		o := Options{
			Batch: b.Below(3), Surge: b.Below(3), KeepSurge: b.OneIn(2), Order: testkit.Pick(b, FewestPods, Given),
			Drain: disruption.DrainOptions{Force: b.OneIn(2), IgnoreDaemonSets: !b.OneIn(4)},
			Start: func(*v1.Pod, string) time.Duration { return time.Second },
		}
		p := w.planner(t)
		var plan *Plan
		testkit.Unchanged(t, func() {
			var err error
			plan, err = p.Plan(o)
			require.NoError(t, err)
		}, w.objects.Pods...)
		again, err := p.Plan(o)
		require.NoError(t, err)
		require.Equal(t, plan, again)
		lawful(t, p, plan)
	})
}

func lawful(t *testing.T, p *Planner, plan *Plan) {
	t.Helper()
	handled := map[string]int{}
	now := time.Duration(0)
	at := map[string]string{} // where pods of the plan are
	for _, s := range plan.Steps {
		require.Equal(t, now, s.Begin)
		require.LessOrEqual(t, s.Begin, s.Empty)
		require.LessOrEqual(t, s.Empty, s.End)
		now = s.End
		if s.Action == Replace {
			for _, n := range s.Nodes {
				handled[n]++
			}
		}
		for _, r := range s.Budgets {
			if r.Begin > 0 {
				require.GreaterOrEqual(t, r.Lowest, r.Minimum, "budget %s", r.Budget)
			}
		}
		wave := s.Begin
		for _, w := range s.Waves {
			require.GreaterOrEqual(t, w.Begin, wave)
			wave = w.End
			require.NotEmpty(t, len(w.Moves)+len(w.Placed))
			for _, m := range w.Moves {
				if from, ok := at[m.Pod]; ok {
					require.Equal(t, from, m.From)
				}
				require.Contains(t, s.Nodes, m.From)
				require.False(t, slices.Contains(s.Nodes, m.To))
				require.True(t, m.Gone >= w.Begin && m.Gone <= w.End && m.Ready <= w.End)
				if m.To != "" {
					at[m.Replacement] = m.To
				}
			}
			for _, a := range w.Placed {
				at[a.Pod] = a.To
			}
		}
	}
	require.Equal(t, now, plan.Total)
	blocked := map[string]bool{}
	for _, d := range plan.Blocked {
		require.NotEmpty(t, d.Proof)
		require.NotEmpty(t, d.Pods)
		for _, n := range d.Nodes {
			blocked[n] = true
		}
	}
	for _, n := range p.nodes {
		require.Equal(t, !blocked[n], handled[n] == 1, "node %s", n)
	}
	require.Len(t, handled, plan.Replaced)
}

// random makes five small nodes with workloads of all kinds, budgets and constraints.
func random(b *testkit.Bytes) *world {
	w := five(testkit.Pick(b, "cpu=2", "cpu=3", "cpu=5"))
	all := []string{"n1", "n2", "n3", "n4", "n5"}
	nodes := func() string {
		var out []string
		for range b.Below(5) {
			out = append(out, all[b.Below(5)])
		}
		return strings.Join(out, " ")
	}
	for i := range b.Below(5) {
		name := fmt.Sprintf("app%d", i)
		r := w.app(name, testkit.Pick(b, "cpu=1", "cpu=500m", "cpu=250m"), nodes(), testkit.Pick(b, nil, apart(name, host), apart("app0", zone), spreadOver(name, zone)))
		if b.OneIn(2) {
			w.budget(name, name, testkit.Pick(b, "1", "2", "max 1", "50%", "max 30%", "max 0"))
		}
		if b.OneIn(6) {
			r.Spec.Replicas = new(int32(b.Below(6)))
		}
	}
	for i := range b.Below(3) {
		name := fmt.Sprintf("db%d", i)
		w.stateful(name, "cpu=500m", nodes(), testkit.Pick(b, appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement), nil)
		if b.OneIn(2) {
			w.budget(name, name, testkit.Pick(b, "1", "max 1"))
		}
	}
	for i := range b.Below(4) {
		p := w.pod(testkit.Pick(b, "", "DaemonSet", "Rollout", "Job"), "x", fmt.Sprintf("x-%d", i), all[b.Below(5)], template("x", "cpu=100m", nil))
		if b.OneIn(4) {
			p.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
		}
		if b.OneIn(4) {
			sick(p)
		}
	}
	if b.OneIn(3) {
		w.pod("Rollout", "x", "waits", "", template("x", "cpu=1500m", nil))
	}
	return w
}
