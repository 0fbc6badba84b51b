package consolidation

import (
	"cmp"
	"slices"
)

// readDomains makes one thing of the nodes of each domain: the first node stands for all of them, and has the price.
func (p *Planner) readDomains() {
	key := p.in.FreeDomains
	if key == "" {
		return
	}
	p.leads = make([]int, len(p.nodes))
	first := map[string]int{}
	for i := range p.nodes {
		p.leads[i] = -1
		n := &p.nodes[i]
		if n.object == nil {
			continue
		}
		n.price = 0
		value, ok := n.object.Labels[key]
		if !ok {
			continue
		}
		at, seen := first[value]
		if seen {
			p.nodes[at].rest = append(p.nodes[at].rest, i)
		} else {
			at, n.price = i, 1
			first[value] = i
		}
		p.leads[i] = at
		p.nodes[at].stays = p.nodes[at].stays || n.held != ""
	}
}

// keeps reports whether a node stays because of its domain: it has none, or a node of the domain is held.
func (p *Planner) keeps(i int) bool {
	if p.in.FreeDomains == "" {
		return false
	}
	at := p.leads[i]
	return at < 0 || p.nodes[at].stays
}

// span returns a node and those that are freed with it.
func (p *Planner) span(i int) []int { return append([]int{i}, p.nodes[i].rest...) }

// moving returns how many pods have to move before a node, and those that are freed with it, are empty.
func (p *Planner) moving(i int) (n int) {
	for _, k := range p.span(i) {
		n += len(p.nodes[k].loads)
	}
	return n
}

// loadsOn returns the loads that are on a node now, and on those that are freed with it.
func (x *state) loadsOn(i int) (out []int32) {
	for _, k := range x.span(i) {
		out = append(out, x.on[k]...)
	}
	return out
}

// whole adds to some nodes the others of their domains.
func (p *Planner) whole(nodes []int) []int {
	if p.leads == nil {
		return nodes
	}
	var out []int
	for _, i := range nodes {
		out = append(out, p.span(p.leads[i])...)
	}
	return out
}

// freed returns the domains that a plan frees, which has all nodes of each.
func (p *Planner) freed(plan *Plan) (out []Freed) {
	at := map[string]int{}
	for _, n := range plan.Nodes {
		value, ok := p.base.Node(p.base.Slot(n.Node)).Labels[p.in.FreeDomains]
		if p.in.FreeDomains == "" || !ok {
			continue
		}
		k, seen := at[value]
		if !seen {
			k = len(out)
			at[value] = k
			out = append(out, Freed{Domain: value, Wave: -1})
		}
		out[k].Nodes++
		out[k].Moves += n.Moves
		out[k].Wave = max(out[k].Wave, n.Wave)
	}
	slices.SortFunc(out, func(a, b Freed) int { return cmp.Compare(a.Domain, b.Domain) })
	return out
}
