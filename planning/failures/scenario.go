package failures

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/podberth/podberth/resources"
)

// Scenario is a set of nodes that fail at the same time.
type Scenario struct {
	Name  string   `json:"name"`
	Nodes []string `json:"nodes"`
}

// Nodes returns a scenario for each node, in the order of the slots.
func (p *Planner) Nodes() []Scenario {
	out := make([]Scenario, len(p.nodes))
	for i, n := range p.nodes {
		out[i] = Scenario{n, []string{n}}
	}
	return out
}

// By returns a scenario for each value of a node label, such as topology.kubernetes.io/zone, sorted by value. Nodes without the
// label are in none.
func (p *Planner) By(label string) []Scenario {
	byValue := map[string][]string{}
	for i := range p.base.Len() {
		if n := p.base.Node(i); n != nil {
			if v, ok := n.Labels[label]; ok {
				byValue[v] = append(byValue[v], n.Name)
			}
		}
	}
	out := make([]Scenario, 0, len(byValue))
	for v, nodes := range byValue {
		out = append(out, Scenario{label + "=" + v, nodes})
	}
	slices.SortFunc(out, func(a, b Scenario) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Pairs returns all pairs of nodes when there are at most limit, and otherwise limit different pairs that the seed chooses. A
// limit of 0 or less gives none.
func (p *Planner) Pairs(limit int, seed uint64) []Scenario {
	n := len(p.nodes)
	var out []Scenario
	if all := n * (n - 1) / 2; all <= limit {
		for i := range n {
			for k := i + 1; k < n; k++ {
				out = append(out, p.scenario(i, k))
			}
		}
		return out
	}
	r, seen := rand.New(rand.NewPCG(seed, 0)), map[[2]int]bool{}
	for len(out) < limit {
		i, k := r.IntN(n), r.IntN(n)
		i, k = min(i, k), max(i, k)
		if i == k || seen[[2]int{i, k}] {
			continue
		}
		seen[[2]int{i, k}] = true
		out = append(out, p.scenario(i, k))
	}
	return out
}

// LargestPairs returns pairs of the nodes whose pods ask for most: the first pairs, at most limit, of the nodes in the
// order of what their pods ask for, as shares of the cluster. A limit of 0 or less gives none.
func (p *Planner) LargestPairs(limit int) []Scenario {
	order := p.fullest()
	var out []Scenario
	for k := range order {
		for i := range k {
			if len(out) >= limit {
				return out
			}
			out = append(out, p.scenario(order[i], order[k]))
		}
	}
	return out
}

// scenario returns the scenario of some nodes by their place in the list of nodes.
func (p *Planner) scenario(nodes ...int) Scenario {
	var s Scenario
	for i, k := range nodes {
		if i > 0 {
			s.Name += "+"
		}
		s.Name += p.nodes[k]
		s.Nodes = append(s.Nodes, p.nodes[k])
	}
	return s
}

// fullest returns the places of the nodes in the list of nodes: first those whose pods ask for the largest share of the
// cluster in some resource.
func (p *Planner) fullest() []int {
	total := make(resources.Vector, p.base.Schema().Len())
	for i := range p.base.Len() {
		if p.base.Node(i) != nil {
			total.Add(p.base.Allocatable(i))
		}
	}
	share := make([]float64, len(p.nodes))
	order := make([]int, len(p.nodes))
	for k, name := range p.nodes {
		order[k] = k
		for c, n := range p.base.Requested(p.base.Slot(name)) {
			if total.At(c) > 0 {
				share[k] = max(share[k], float64(n)/float64(total.At(c)))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(share[b], share[a]) })
	return order
}
