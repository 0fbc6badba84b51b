package consolidate

import (
	"context"
	"io"
	"math"

	"github.com/podberth/podberth/planning/consolidation"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// consolidationPlan is the answer, in the form in which it is printed.
type consolidationPlan struct {
	report.Head
	Summary summary `json:"summary"`
	Nodes   []node  `json:"nodes"`
	Added   []added `json:"added"`
	// Domains are those that are free after the plan, with -free-domains.
	Domains []domain `json:"domains,omitempty"`
	Waves   []wave   `json:"waves"`
	Kept    []kept   `json:"kept"`
	Replay  replay   `json:"replay"`
	// Stays are the nodes that the plan leaves, those with the least to move first. Unexplained is how many more there are. Why is the
	// node of -why.
	Stays       []stay   `json:"stays"`
	Unexplained int      `json:"unexplained"`
	Why         *removal `json:"why,omitempty"`
	Gangs       *gangs   `json:"gangs,omitempty"`
	label       string   // of -free-domains
}

type summary struct {
	Nodes   int     `json:"nodes"`
	Emptied int     `json:"emptied"`
	Added   int     `json:"added"`
	Moves   int     `json:"moves"`
	Waves   int     `json:"waves"`
	Before  string  `json:"before"`
	After   string  `json:"after"`
	Bound   string  `json:"bound"`
	Gap     float64 `json:"gap"` // rounded up to four decimals
	Steps   int     `json:"steps"`
	// Untried are the nodes that -time left before anybody tried to empty them.
	Untried int `json:"untried,omitempty"`
	// Unsearched are the steps that -time left of those of -steps.
	Unsearched int `json:"unsearched,omitempty"`
}

type node struct {
	Node  string `json:"node"`
	Price string `json:"price"`
	Wave  int    `json:"wave"` // from 1; 0: before the first
	Moves int    `json:"moves"`
}

type domain struct {
	Domain string `json:"domain"`
	Nodes  int    `json:"nodes"`
	Wave   int    `json:"wave"` // as that of a node
	Moves  int    `json:"moves"`
}

type added struct {
	Node  string `json:"node"`
	Type  string `json:"type"`
	Price string `json:"price"`
}

type wave struct {
	Moves []move `json:"moves"`
}

type move struct {
	Pod       string            `json:"pod"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	From      string            `json:"from"`
	To        string            `json:"to"`
	Way       consolidation.Way `json:"way"`
	Chosen    bool              `json:"chosen"`
	Budgets   []string          `json:"budgets"`
}

type kept struct {
	Node   string `json:"node"`
	Pod    string `json:"pod"`
	Reason string `json:"reason"`
}

// replay is what becomes of the plan when nobody pins a pod.
type replay struct {
	Same      int         `json:"same"`
	Elsewhere []elsewhere `json:"elsewhere"`
	Pending   []string    `json:"pending"`
}

type elsewhere struct {
	Pod  string `json:"pod"`
	To   string `json:"to"`
	Node string `json:"node"`
}

// orNone returns the steps of a search for -steps: 0 is none there and the default here.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// plan asks for the plan and its replay.
func (in *input) plan(ctx context.Context, o options, stderr io.Writer) (*consolidationPlan, error) {
	stop, tried := program.Stop(ctx, o.time), 0
	progress := report.NewProgress(stderr, "consolidate", "nodes tried", nil)
	defer progress.End()
	x := consolidation.Options{Steps: orNone(o.steps), Seed: o.seed, MaxMoves: o.maxMoves}
	x.Stop = func() bool {
		tried++
		progress.Step(tried, 0)
		return stop()
	}
	ask := in.planner.Plan
	if o.oneStep {
		ask = in.planner.Step
	}
	p, err := ask(x)
	if err != nil {
		return nil, err
	}
	r, err := in.planner.Replay(p)
	if err != nil {
		return nil, err
	}
	a := in.shown(p, r, o)
	if left := o.steps - p.Steps; left > 0 && o.steps < math.MaxInt && !o.oneStep && p.Untried == 0 && p.After > p.Bound && stop() {
		a.Summary.Unsearched = left
	}
	if o.gang != "" {
		if a.Gangs, err = in.count(p, o, program.Stop(ctx, o.time)); err != nil {
			return nil, err
		}
	}
	return a, in.stays(a, p, o, program.Stop(ctx, o.time)) // a search that ran out of time is explained all the same
}

// shown returns a plan in the form in which it is printed. -n leaves out the moves of other namespaces.
func (in *input) shown(p *consolidation.Plan, r *consolidation.Replay, o options) *consolidationPlan {
	a := &consolidationPlan{
		Head: report.HeadOf("ConsolidationPlan"), Nodes: []node{}, Added: []added{}, Waves: []wave{}, Kept: []kept{}, Stays: []stay{},
		Replay: replay{Same: r.Same, Elsewhere: []elsewhere{}, Pending: []string{}},
		Summary: summary{
			Nodes: in.nodes, Emptied: len(p.Nodes), Added: len(p.Added), Moves: p.Moves(), Waves: len(p.Waves), Before: in.cost(p.Before),
			After: in.cost(p.After), Bound: in.cost(p.Bound), Gap: max(0, math.Ceil(p.Gap()*1e4-1e-9)/1e4), Steps: p.Steps, Untried: p.Untried,
		},
	}
	for _, n := range p.Nodes {
		a.Nodes = append(a.Nodes, node{n.Node, in.cost(n.Price), n.Wave + 1, n.Moves})
	}
	a.label = o.freeDomains
	for _, d := range p.Domains {
		a.Domains = append(a.Domains, domain{d.Domain, d.Nodes, d.Wave + 1, d.Moves})
	}
	for _, n := range p.Added {
		a.Added = append(a.Added, added{n.Node.Name, n.Type, in.cost(n.Price)})
	}
	for _, list := range p.Waves {
		w := wave{Moves: []move{}}
		for _, m := range list {
			if !o.tables.Shows(m.Pod.Namespace) {
				continue
			}
			budgets := append([]string{}, m.Budgets...)
			w.Moves = append(w.Moves, move{name(m), m.Pod.Namespace, m.Pod.Name, m.From, m.To, m.Way, m.Chosen, budgets})
		}
		a.Waves = append(a.Waves, w)
	}
	for _, k := range p.Kept {
		x := kept{Node: k.Node, Reason: k.Reason}
		if k.Pod != nil {
			x.Pod = k.Pod.Namespace + "/" + k.Pod.Name
		}
		a.Kept = append(a.Kept, x)
	}
	for k, m := range r.Elsewhere {
		a.Replay.Elsewhere = append(a.Replay.Elsewhere, elsewhere{name(m), m.To, r.Nodes[k]})
	}
	for _, m := range r.Pending {
		a.Replay.Pending = append(a.Replay.Pending, name(m))
	}
	return a
}

func name(m consolidation.Move) string { return m.Pod.Namespace + "/" + m.Pod.Name }
