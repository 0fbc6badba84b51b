package consolidation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// What the search finds in random clusters, and in how many steps: testdata/work.txt changes when the search gets slower or finds
// something else.
func TestWork(t *testing.T) {
	testkit.Sequential(t)
	var out strings.Builder
	write := func(name string, p *Plan) {
		fmt.Fprintf(&out, "%s: steps %d, from %d to %d, bound %d: %s\n", name, p.Steps, p.Before, p.After, p.Bound, strings.Join(lines(p), ", "))
	}
	for seed := range uint64(40) {
		write(fmt.Sprint("laws ", seed), random(testkit.NewBytes(testkit.RandomBytes(seed+5e6, 120))).plan(t, Options{Steps: 100, Seed: seed}))
		write(fmt.Sprint("cpu ", seed), drawBrute(rand.New(rand.NewPCG(seed, 29)), seed%2 == 1).w.plan(t, Options{Steps: 100, Seed: seed}))
	}
	for seed := range uint64(3) {
		write(fmt.Sprint("packed ", seed), pack(rand.New(rand.NewPCG(seed, 31)), 20).plan(t, Options{Steps: 40, Seed: seed}))
	}
	for seed := range uint64(30) { // nodes to buy, nodes without a zone, daemons, replays
		w := drawBrute(rand.New(rand.NewPCG(seed, 41)), seed%2 == 1).w
		for k, n := range w.objects.Nodes {
			if seed%3 == 0 && k%4 == 3 {
				delete(n.Labels, v1.LabelTopologyZone)
			}
		}
		w.in.Types = []Type{
			{Node: testkit.Node("small").Zone("z0").Capacity("cpu=5").Obj(), Price: 4},
			{Node: testkit.Node("large").Zone("z1").Capacity("cpu=17").Obj(), Price: 9},
		}
		w.in.DaemonSets = []*appsv1.DaemonSet{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"},
			Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}, Template: template("agent", "cpu=1", nil)},
		}}
		price := w.in.Price
		w.in.Price = func(n *v1.Node) int64 { return 4 * price(n) }
		p := w.planner(t)
		plan, err := p.Plan(Options{Steps: 60, Seed: seed, MaxMoves: int(seed % 7)})
		require.NoError(t, err)
		write(fmt.Sprint("types ", seed), plan)
		for _, a := range plan.Added {
			fmt.Fprintf(&out, "  added %s for %d\n", a.Node.Name, a.Price)
		}
		r, err := p.Replay(plan)
		require.NoError(t, err)
		fmt.Fprintf(&out, "  replay: same %d, elsewhere %d, pending %d\n", r.Same, len(r.Elsewhere), len(r.Pending))
		one, err := p.Step(Options{Seed: seed})
		require.NoError(t, err)
		write("  one node", one)
	}
	testkit.Golden(t, "testdata/work.txt", out.String())
}
