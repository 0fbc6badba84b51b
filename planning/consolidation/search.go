package consolidation

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/podberth/podberth/internal/must"
)

// Options change one search. The zero value searches for [DefaultSteps].
type Options struct {
	// Steps is how many steps the search takes at most after the first set of nodes; 0 means DefaultSteps, below 0 none. A search whose
	// best set has no order of moves begins again, up to twice.
	Steps int
	// Seed chooses among searches. Equal seeds give equal plans unless Stop ends the search.
	Seed uint64
	// MaxMoves is the largest number of moves of a plan; 0: no limit.
	MaxMoves int
	// Stop ends the search when it returns true. It is asked before each node. The plan is the best so far. nil: never.
	Stop func() bool
	// Improved is called with each better set of nodes, before the order of the moves is looked for. nil: no calls.
	Improved func(Progress)
}

// DefaultSteps are the steps of a search when [Options.Steps] is 0.
const DefaultSteps = 1000

// Progress is how far a search is.
type Progress struct {
	Step  int // 0: the first set of nodes
	Cost  int64
	Bound int64
	Moves int
}

// Plan looks for the cheapest cluster. The error is one of the snapshot or of the profile's plugins. A negative MaxMoves
// counts as 0. The cost is in the package comment: one pass over the nodes for the first set, a few nodes for each step, and one
// pass over the moves for their order.
func (p *Planner) Plan(o Options) (_ *Plan, err error) {
	defer must.Catch(&err)
	x := p.newSearch(o)
	untried := x.first()
	best := p.order(x.chosen())
	steps := 0
	for round := range uint64(rounds) {
		x.improve()
		steps += x.steps
		if x.better {
			other := p.order(x.chosen())
			if cmp.Or(cmp.Compare(other.After, best.After), cmp.Compare(other.Moves(), best.Moves())) < 0 {
				best = other
			}
		}
		if best.After <= x.cost || x.o.Steps < 0 || x.stopped() {
			break
		}
		o.Seed += round + 1
		x = p.newSearch(o)
		x.first()
	}
	best.Bound, best.Steps, best.Untried, best.Kept = x.bound, steps, untried, p.kept()
	return best, nil
}

// rounds is how often a search begins again at most, when the best set of nodes has no order of moves.
const rounds = 3

// search looks for a cheap set of nodes.
type search struct {
	*state
	o      Options
	bound  int64
	steps  int
	random *rand.Rand
	better bool // than the first set
	list   []int
}

func (p *Planner) newSearch(o Options) *search {
	o.Steps = cmp.Or(o.Steps, DefaultSteps)
	x := &search{state: p.newState(), o: o, bound: p.bound(), random: rand.New(rand.NewPCG(o.Seed, 1))}
	for i := range p.nodes {
		if n := &p.nodes[i]; n.object != nil && n.held == "" && !n.stays && n.price > 0 {
			x.list = append(x.list, i)
		}
	}
	return x
}

func (x *search) stopped() bool { return x.o.Stop != nil && x.o.Stop() }

func (x *search) tell() {
	if x.o.Improved != nil {
		x.o.Improved(Progress{Step: x.steps, Cost: x.cost, Bound: x.bound, Moves: x.moves})
	}
}

// weight returns how much a node has that would have to move, for each unit of its price.
func (x *search) weight(i int) (w float64) {
	for _, k := range x.span(i) {
		for _, id := range x.on[k] {
			w += x.loads[id].size
		}
	}
	return w / float64(x.nodes[i].price)
}

// allows reports whether a node may be emptied within MaxMoves.
func (x *search) allows(i int) bool {
	return !x.empty[i] && (x.o.MaxMoves <= 0 || x.moves+x.moving(i) <= x.o.MaxMoves)
}

// byPrice returns the nodes that may be emptied, the dearest first, and of these those with the fewest pods.
func (x *search) byPrice() []int {
	order := slices.Clone(x.list)
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(x.nodes[b].price, x.nodes[a].price), cmp.Compare(x.moving(a), x.moving(b)))
	})
	return order
}

// first empties one node after the other, first those of which least has to move for their price. It returns how many were not tried.
func (x *search) first() (untried int) {
	weights := make([]float64, len(x.nodes))
	for _, i := range x.list {
		weights[i] = x.weight(i)
	}
	order := slices.Clone(x.list)
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(weights[a], weights[b]), cmp.Compare(x.moving(a), x.moving(b)))
	})
	for k, i := range order {
		if x.stopped() {
			untried = len(order) - k
			break
		}
		if !x.allows(i) {
			continue
		}
		x.clear(i)
	}
	x.buy(order)
	x.log = x.log[:0]
	x.tell()
	return untried
}

// improve takes some emptied nodes back and tries to empty others, as long as steps are left and the cost is above the bound.
func (x *search) improve() {
	for x.steps < x.o.Steps && x.cost > x.bound && !x.stopped() {
		x.steps++
		m, cost, moves := x.mark(), x.cost, x.moves
		x.step()
		if cmp.Or(cmp.Compare(x.cost, cost), cmp.Compare(x.moves, moves)) > 0 {
			x.takeBack(m)
			continue
		}
		x.keep(m)
		x.log = x.log[:0]
		if x.cost < cost {
			x.tell()
		}
		x.better = x.better || x.cost < cost || x.moves < moves
	}
}

// tries is how many nodes a step tries to empty at most.
const tries = 16

// step squeezes one node, and every other time takes nodes back.
func (x *search) step() {
	if x.steps%2 == 0 {
		x.swap()
		return
	}
	var stay []int
	for _, i := range x.list {
		if x.allows(i) {
			stay = append(stay, i)
		}
	}
	if len(stay) == 0 {
		return
	}
	slices.SortStableFunc(stay, func(a, b int) int { return cmp.Compare(x.weight(a), x.weight(b)) })
	x.squeeze(stay[x.random.IntN(min(len(stay), 8+x.steps/16))])
}

// swap takes up to three emptied nodes back. Then it tries to empty nodes that stayed, and after them the nodes that it took back.
func (x *search) swap() {
	var stay, back []int
	for _, i := range x.list {
		switch {
		case !x.empty[i]:
			stay = append(stay, i)
		case x.reopens(i):
			back = append(back, i)
		}
	}
	x.random.Shuffle(len(back), func(i, k int) { back[i], back[k] = back[k], back[i] })
	back = back[:min(len(back), x.random.IntN(4))]
	for _, i := range back {
		x.reopen(i)
	}
	x.random.Shuffle(len(stay), func(i, k int) { stay[i], stay[k] = stay[k], stay[i] })
	if len(stay) > tries {
		stay = stay[:min(len(stay), 4*tries)]
		slices.SortStableFunc(stay, func(a, b int) int { return cmp.Compare(x.weight(a), x.weight(b)) })
		stay = stay[:tries]
	}
	x.shuffle = x.random
	for _, i := range append(stay, back...) {
		if x.allows(i) {
			x.clear(i)
		}
	}
}

// chosen returns the nodes that are empty, and where their loads are.
func (x *search) chosen() choice {
	c := choice{target: map[int32]int32{}}
	for i, empty := range x.empty {
		if x.nodes[i].kind != nil {
			if !empty {
				c.add = append(c.add, i)
			}
			continue
		}
		if !empty {
			continue
		}
		c.nodes = append(c.nodes, i)
		for _, id := range x.nodes[i].loads {
			c.target[id] = x.at[id]
		}
	}
	return c
}

// kept returns the nodes that no plan can empty.
func (p *Planner) kept() (out []Kept) {
	for i := range p.nodes {
		if n := &p.nodes[i]; n.object != nil && n.held != "" {
			out = append(out, Kept{n.object.Name, n.by, n.held})
		}
	}
	return out
}
