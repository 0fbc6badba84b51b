package consolidation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// FuzzPlan holds the laws of a plan over random clusters: the objects do not change, a second search gives the same plan, and a
// replay finds every step allowed.
func FuzzPlan(f *testing.F) {
	for seed := range uint64(150) {
		f.Add(testkit.RandomBytes(seed, 120))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		w := random(b)
		o := Options{Steps: 20, Seed: uint64(b.Below(4)), MaxMoves: b.Below(12)}
		p := w.planner(t)
		var plan *Plan
		testkit.Unchanged(t, func() {
			var err error
			plan, err = p.Plan(o)
			require.NoError(t, err)
		}, w.objects.Pods...)
		again, err := p.Plan(o)
		require.NoError(t, err)
		require.Equal(t, lines(plan), lines(again))
		lawful(t, w, plan)
	})
}

// random makes up to eight nodes of two sizes with workloads of all kinds, rules and budgets.
func random(b *testkit.Bytes) *world {
	w := &world{}
	var names []string
	for i := range 2 + b.Below(7) {
		n := w.node(fmt.Sprintf("n%d", i), testkit.Pick(b, "a", "b", "c"), testkit.Pick(b, "cpu=4,memory=8Gi", "cpu=8,memory=8Gi"))
		if b.Below(12) == 0 {
			n.Spec.Unschedulable = true
		}
		names = append(names, n.Name)
	}
	used := map[string]int{}
	on := func(cpu int) string {
		var out []string
		for range b.Below(6) {
			n := names[b.Below(len(names))]
			if used[n]+cpu <= 4 {
				used[n] += cpu
				out = append(out, n)
			}
		}
		return strings.Join(out, " ")
	}
	for i := range b.Below(6) {
		app := fmt.Sprintf("app%d", i)
		cpu := 1 + b.Below(3)
		change := testkit.Pick(b, nil, nil, apart(app, v1.LabelHostname), apart(app, v1.LabelTopologyZone), beside("app0", v1.LabelTopologyZone),
			spreadOver(app, v1.LabelTopologyZone), spreadOver(app, v1.LabelHostname))
		request := fmt.Sprintf("cpu=%d,memory=1Gi", cpu)
		if b.Below(4) == 0 {
			w.stateful(app, request, on(cpu))
		} else {
			w.app(app, request, on(cpu), change)
		}
		if b.Below(3) == 0 {
			w.budget(app, b.Below(3))
		}
	}
	for i := range b.Below(4) {
		kind := testkit.Pick(b, "", "DaemonSet", "DaemonSet", "Rollout")
		w.pod(kind, "x", fmt.Sprintf("x-%d", i), names[b.Below(len(names))], template("x", "cpu=100m", nil))
	}
	prices := map[string]int64{}
	for _, n := range names {
		prices[n] = int64(1 + b.Below(4))
	}
	w.in.Price = func(n *v1.Node) int64 { return prices[n.Name] }
	return w
}

// FuzzStep compares the plan of one node with the first plan of a new search for each node alone.
func FuzzStep(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(testkit.RandomBytes(seed, 120))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		w := random(b)
		o := Options{MaxMoves: b.Below(5)}
		p := w.planner(t)
		got, err := p.Step(o)
		require.NoError(t, err)
		lawful(t, w, got)
		require.LessOrEqual(t, len(got.Nodes), 1)
		want := p.order(choice{})
		for _, i := range p.newSearch(o).byPrice() {
			x := p.newSearch(o)
			if x.allows(i) && x.clear(i) {
				if plan := p.order(x.chosen()); len(plan.Nodes) > 0 {
					want = plan
					break
				}
			}
		}
		require.Equal(t, lines(want), lines(got))
	})
}
