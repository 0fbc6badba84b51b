package failures

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
)

// Options change one Run. The zero value plays the scenarios one after the other in the queue's order.
type Options struct {
	// Parallel calls run(0) to run(n-1), in any order and at the same time if it likes, and returns when all calls have
	// returned. nil calls one after the other. The results do not depend on it.
	Parallel func(n int, run func(i int))
	// Orders is the number of further orders of re-creation to play, for Result.Bounds. Each shuffles the pods of equal
	// priority by Seed.
	Orders int
	Seed   uint64
	// Steps is the number of scenarios that Run plays at most, the first of the list; each order of Orders counts as a scenario. 0 means
	// DefaultSteps. One scenario is always played.
	Steps int
	// Stop leaves out scenarios, and further orders of a scenario, when it returns true; Bounds.Orders says how many were played. It is
	// asked before each. Parallel's goroutines call it. nil: never.
	Stop func() bool
	// Until makes Run forecast taint-based eviction for so long after the failure (Outcome.Leaves). 0: no forecast.
	Until time.Duration
	// Observe is called with each attempt of the scenario with that place in the list, in the order of the attempts; the orders of Orders are
	// not observed. Parallel's goroutines call it. nil: no calls.
	Observe func(scenario int, a Attempt)
}

// DefaultSteps is the limit of [Options] whose Steps are 0.
const DefaultSteps = 100_000

// stopped reports whether the caller ends the work.
func (o *Options) stopped() bool { return o.Stop != nil && o.Stop() }

// Attempt is one attempt to place a pod.
type Attempt struct {
	Pod      *v1.Pod            // as the scheduler sees the pod: a pod that was nominated has its nomination
	Decision placement.Decision // without a node: the pod stays pending, or preempts
	Victims  []*v1.Pod          // pods that leave Nominated at once
	// Nominated is the node on which the pod preempts; "" for none. Its next attempt follows at once.
	Nominated string
}

func (o Options) each(n int, run func(i int)) {
	if o.Parallel != nil {
		o.Parallel(n, run)
		return
	}
	for i := range n {
		run(i)
	}
}

// Run plays the scenarios, each on the cluster as it was before any failure, and returns one result for each that was played, in their
// order: Steps and Stop leave scenarios out. The error names the first scenario that has an unknown node or a node twice, or is the first error of a scenario; there are
// no results then. O(pods of the lost nodes) decisions for each scenario, and O(nodes) beside them.
func (p *Planner) Run(scenarios []Scenario, o Options) ([]Result, error) {
	for _, s := range scenarios {
		seen := map[string]bool{}
		for _, n := range s.Nodes {
			switch {
			case p.base.Slot(n) < 0:
				return nil, fmt.Errorf("scenario %q: nodes: Not found: %q: no such node in the cluster", s.Name, n)
			case seen[n]:
				return nil, fmt.Errorf("scenario %q: nodes: Duplicate value: %q", s.Name, n)
			}
			seen[n] = true
		}
	}
	most := max(1, cmp.Or(max(0, o.Steps), DefaultSteps)/(1+max(0, o.Orders)))
	scenarios = scenarios[:min(len(scenarios), most)]
	results := make([]*Result, len(scenarios)) // nil: left out
	errs := make([]error, len(scenarios))
	o.each(len(scenarios), func(i int) {
		if !o.stopped() {
			r, err := p.run(i, scenarios[i], o)
			results[i], errs[i] = &r, err
		}
	})
	played := make([]Result, 0, len(results))
	for i, r := range results {
		if errs[i] != nil {
			return nil, fmt.Errorf("scenario %q: %w", scenarios[i].Name, errs[i])
		}
		if r != nil {
			played = append(played, *r)
		}
	}
	return played, nil
}

// run plays one scenario. A player that met an error is not used again.
func (p *Planner) run(i int, s Scenario, o Options) (result Result, err error) {
	defer must.Catch(&err)
	x := p.take()
	if o.Observe != nil {
		x.observe = func(a Attempt) { o.Observe(i, a) }
	}
	result = x.play(s, nil)
	x.observe = nil
	if o.Orders > 0 {
		b := Bounds{Orders: 1, Fewest: result.Stays(), Most: result.Stays()}
		r := rand.New(rand.NewPCG(o.Seed, 1))
		for range o.Orders {
			if o.stopped() {
				break
			}
			b.Orders++
			other := x.play(s, r)
			b.Fewest, b.Most = min(b.Fewest, other.Stays()), max(b.Most, other.Stays())
		}
		result.Bounds = &b
	}
	p.put(x)
	if o.Until > 0 {
		p.forecast(&result, o.Until)
	}
	return result, nil
}

// Worst sorts results by what does not come back: first the result with the most pods that stay pending or waiting, then with
// the most displaced pods, budgets below their minimum, and lost pods, then by name.
func Worst(results []Result) {
	slices.SortStableFunc(results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(b.Stays(), a.Stays()), cmp.Compare(b.Displaced, a.Displaced), cmp.Compare(len(b.Budgets), len(a.Budgets)),
			cmp.Compare(len(b.Pods), len(a.Pods)), cmp.Compare(a.Name, b.Name))
	})
}

// errLoop ends a scenario in which pods displace each other without end. v1.37's plugins do not allow that; a plugin that
// contradicts itself does.
var errLoop = errors.New("pods displace each other without end")
