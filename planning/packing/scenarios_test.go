package packing_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/packing"
)

var (
	scenarios  = flag.Int("scenarios", 0, "seeds of each published scenario in TestScenarios; the published table has 100. 0 skips the test")
	from       = flag.Uint64("from", 0, "first seed of each scenario in TestScenarios")
	within     = flag.Duration("within", time.Second, "time of one plan in TestScenarios")
	steps      = flag.Int("steps", 0, "steps of one plan in TestScenarios, in place of -within: the outcome then does not depend on the machine")
	smallest   = flag.Int("least", 10, "nodes of the smallest cluster in TestScenarios")
	largest    = flag.Int("nodes", 160, "nodes of the largest cluster in TestScenarios")
	together   = flag.Bool("together", false, "all pods of TestScenarios are in the queue at first, and kube-scheduler takes the highest priority first")
	constrains = flag.Bool("constrained", false, "give pods of TestScenarios affinity, spread constraints and budgets")
)

// scenario is a published generated scenario: equal nodes, and pods whose cpu and memory are uniform between 5 and 50 parts,
// independent of each other. The size of a part follows from what all pods ask for together, a percentage of the cluster.
type scenario struct{ nodes, each, priorities, percent int }

func (c scenario) world(seed uint64, constrained bool) *world {
	r := rand.New(rand.NewPCG(seed, uint64(c.nodes*1000+c.each*100+c.priorities*10+c.percent)))
	w := &world{}
	cpu, memory := 0, 0
	for k := range c.nodes * c.each {
		a, b := 500+r.IntN(4501), 500+r.IntN(4501)
		cpu, memory = cpu+a, memory+b
		app := fmt.Sprintf("a%d", k/4)
		p := testkit.Pod(fmt.Sprintf("p%04d", k)).Labels("app=" + app).Priority(int32(r.IntN(c.priorities))).Request(fmt.Sprintf("cpu=%dm,memory=%dMi", a, b))
		if constrained {
			switch k / 4 % 8 {
			case 0:
				p = p.RequireApart(v1.LabelHostname, "app="+app)
			case 1:
				p = p.Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app="+app)
			}
		}
		w.pending = append(w.pending, p.Obj())
	}
	capacity := fmt.Sprintf("cpu=%dm,memory=%dMi", cpu*100/c.percent/c.nodes, memory*100/c.percent/c.nodes)
	for i := range c.nodes {
		w.nodes = append(w.nodes, node(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", i%3), capacity))
	}
	return w
}

// arrive makes the pods come one at a time: kube-scheduler places the pods that fit, and the others wait. With budgets every second
// app allows one disruption.
func (w *world) arrive(t *testing.T, budgets bool) {
	in := w.input(t)
	placer, err := placement.NewPlacer(in.Snapshot, placement.DefaultProfile())
	require.NoError(t, err)
	w.pending = slices.DeleteFunc(w.pending, func(p *v1.Pod) bool {
		d := placer.Decide(p, placement.Options{})
		if !d.Placed() {
			return false
		}
		require.NoError(t, placer.Assume(p, d))
		p = p.DeepCopy()
		p.Spec.NodeName = d.Node
		w.pods = append(w.pods, p)
		return true
	})
	for k := 0; budgets && k < len(w.pods)/4; k += 2 {
		w.budgets = append(w.budgets, budget(fmt.Sprintf("a%d", k), 1))
	}
}

// outcomes counts plans. open is the number of plans for which neither a better vector nor a certificate is known.
type outcomes struct {
	all, complete, certified, left, better, open, optimal int
	slowest                                               time.Duration
}

func (o *outcomes) add(p packing.Plan, took time.Duration) {
	o.all++
	o.slowest = max(o.slowest, took)
	theirs := vector(p.Tiers, func(t packing.Tier) int { return t.Default })
	left := !slices.Equal(theirs, vector(p.Tiers, func(t packing.Tier) int { return t.Pods }))
	switch {
	case !left:
		o.complete++
	case p.DefaultOptimal:
		o.certified++
	default:
		o.left++
		if slices.Compare(vector(p.Tiers, placed), theirs) > 0 {
			o.better++
		} else {
			o.open++
		}
	}
	if p.Optimal {
		o.optimal++
	}
}

func percent(a, b int) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(a)/float64(b))
}

// Of small published scenarios the same plans are better, complete and optimal in every run: the number of steps ends the search.
func TestSmallScenarios(t *testing.T) {
	for c, want := range map[scenario]outcomes{{10, 4, 3, 100}: {all: 6, left: 6, better: 6, optimal: 1}, {10, 4, 5, 90}: {all: 6, left: 6, better: 6, optimal: 6}} {
		var got outcomes
		for seed := range uint64(6) {
			w := c.world(seed, false)
			w.arrive(t, false)
			got.add(w.pack(t, packing.Options{Steps: 3000}), 0)
		}
		require.Equal(t, want, got, "%+v", c)
	}
}

// The published scenarios: 10, 40 and 160 nodes, 4 to 10 pods a node, 3 and 5 priorities, pods that ask for 90 to 105 % of the
// cluster. Counts of several runs over different seeds (-from) add up. A scenario is realisable if kube-scheduler leaves a pod out and is not certified as optimal; whether a better vector
// exists is not known of all of these, so that the share of better plans is not too large. Published shares for kube-scheduler with a
// constraint solver: better in 44 % within 1 s and 73 % within 10 s, kube-scheduler certified in 19 % of all.
func TestScenarios(t *testing.T) {
	if *scenarios == 0 {
		t.Skip("only with -scenarios")
	}
	var total outcomes
	t.Logf("%5s %8s %9s %9s %9s %11s %13s %5s %8s %8s", "nodes", "asked", "scenarios", "complete", "certified", "realisable", "better", "open", "optimal", "slowest")
	line := func(nodes, asked string, o outcomes) {
		t.Logf("%5s %8s %9d %9d %9d %11d %5d (%5s) %5d %8d %8s", nodes, asked, o.all, o.complete, o.complete+o.certified, o.left,
			o.better, percent(o.better, o.left), o.open, o.optimal, o.slowest.Round(time.Millisecond))
	}
	for _, nodes := range []int{10, 40, 160} {
		if nodes < *smallest || nodes > *largest {
			continue
		}
		for _, asked := range []int{90, 95, 100, 105} {
			var sum outcomes
			for each := 4; each <= 10; each++ {
				for _, priorities := range []int{3, 5} {
					for seed := *from; seed < *from+uint64(*scenarios); seed++ {
						w := scenario{nodes, each, priorities, asked}.world(seed, *constrains)
						if !*together {
							w.arrive(t, *constrains)
						}
						began := time.Now()
						o := packing.Options{Seed: seed, Steps: *steps}
						if *steps == 0 {
							o.Steps, o.Stop = 1<<40, func() bool { return time.Since(began) >= *within }
						}
						p := w.pack(t, o)
						sum.add(p, time.Since(began))
						total.add(p, time.Since(began))
					}
				}
			}
			line(fmt.Sprint(nodes), fmt.Sprintf("%d %%", asked), sum)
		}
	}
	line("all", "", total)
}
