package consolidate

import (
	"context"
	"io"
	"math"

	"github.com/podberth/podberth/planning/consolidation"
	"github.com/podberth/podberth/tools/report"
)

// consolidationPlan is the answer, in the form in which it is printed.
type consolidationPlan struct {
	report.Head
	Summary summary `json:"summary"` // the plan in numbers
	Nodes   []node  `json:"nodes"`   // the nodes to empty, in the order in which they can be removed
	Added   []added `json:"added"`   // nodes to add before the first wave
	// With --free-domains: the domains that are free after the plan, by name; absent without any.
	Domains []domain `json:"domains,omitempty"`
	Waves   []wave   `json:"waves"`  // the waves, in their order
	Kept    []kept   `json:"kept"`   // nodes that no plan can empty
	Replay  replay   `json:"replay"` // what happens when no pod is pinned to its node
	// Nodes that the plan leaves, those with the least to move first; at most 40 without --all.
	Stays       []stay   `json:"stays"`
	Unexplained int      `json:"unexplained"`     // nodes that stay and are not in "stays[]"
	Why         *removal `json:"why,omitempty"`   // with --why: what would happen if the node were removed besides
	Gangs       *gangs   `json:"gangs,omitempty"` // with --gang: how many more gangs like the group fit
	label       string   // of --free-domains
}

type summary struct {
	Nodes      int     `json:"nodes"`                // nodes of the input
	Emptied    int     `json:"emptied"`              // nodes that the plan empties
	Added      int     `json:"added"`                // nodes that the plan adds
	Moves      int     `json:"moves"`                // pods that move
	Waves      int     `json:"waves"`                // how often the plan waits for new pods to be ready
	Before     string  `json:"before"`               // what the cluster costs
	After      string  `json:"after"`                // what it costs after the plan
	Bound      string  `json:"bound"`                // no plan by the rules costs less
	Gap        float64 `json:"gap"`                  // the largest share of "after" that a better plan could save, rounded up
	Steps      int     `json:"steps"`                // steps of the search
	Untried    int     `json:"untried,omitempty"`    // nodes that --time left before anybody tried to empty them; absent for 0
	Unsearched int     `json:"unsearched,omitempty"` // steps of --steps that --time left; absent for 0
}

type node struct {
	Node  string `json:"node"`
	Price string `json:"price"` // what its removal saves
	Wave  int    `json:"wave"`  // the wave after which it is empty; 0: no pod has to move
	Moves int    `json:"moves"` // pods that move away
}

type domain struct {
	Domain string `json:"domain"` // the value of the label
	Nodes  int    `json:"nodes"`  // nodes of the domain
	Wave   int    `json:"wave"`   // as that of a node
	Moves  int    `json:"moves"`  // pods that move away
}

type added struct {
	Node  string `json:"node"`
	Type  string `json:"type"`  // name of the node in --types
	Price string `json:"price"` // what it costs
}

type wave struct {
	// The moves of the wave, which can be made at the same time; with -n of one namespace.
	Moves []move `json:"moves"`
}

type move struct {
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	From      string `json:"from"` // the node that the pod leaves
	To        string `json:"to"`   // the node of the new pod
	// Surge: the new pod comes while the old pod terminates; InPlace: when the old pod is gone.
	Way consolidation.Way `json:"way"`
	// Whether kube-scheduler chooses the node by itself when the nodes to empty are cordoned.
	Chosen  bool     `json:"chosen"`
	Budgets []string `json:"budgets"` // the disruption budgets that cover the pod, as NAMESPACE/NAME
}

type kept struct {
	Node   string `json:"node"`
	Pod    string `json:"pod"`    // the pod that holds the node, as NAMESPACE/NAME; "" when no pod does
	Reason string `json:"reason"` // why
}

// replay is what becomes of the plan when nobody pins a pod.
type replay struct {
	Same      int         `json:"same"`      // pods that kube-scheduler places as the plan does
	Elsewhere []elsewhere `json:"elsewhere"` // pods that end on other nodes
	Pending   []string    `json:"pending"`   // pods that find no node then, as NAMESPACE/NAME
}

type elsewhere struct {
	Pod  string `json:"pod"`
	To   string `json:"to"`   // the node of the plan
	Node string `json:"node"` // the node that kube-scheduler takes
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
	stop, tried := o.Stop(ctx), 0
	progress := report.NewProgress(stderr, "consolidate", "nodes tried", nil)
	defer progress.End()
	x := consolidation.Options{Steps: orNone(o.Steps), Seed: o.seed, MaxMoves: o.maxMoves}
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
	if left := o.Steps - p.Steps; left > 0 && o.Steps < math.MaxInt && !o.oneStep && p.Untried == 0 && p.After > p.Bound && stop() {
		a.Summary.Unsearched = left
	}
	if o.gang != "" {
		if a.Gangs, err = in.count(p, o, o.Stop(ctx)); err != nil {
			return nil, err
		}
	}
	return a, in.stays(a, p, o, o.Stop(ctx)) // a search that ran out of time is explained all the same
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
			if !o.Tables.Shows(m.Pod.Namespace) {
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
