package consolidation

import (
	"cmp"
	"math/bits"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/taints"
)

// bound returns a cost below which no plan can bring the cluster. Each part is a smaller problem that every plan solves, and the
// largest answer counts:
//
//  1. Nodes that are held stay.
//  2. For each resource the nodes that stay offer what the pods that may move ask for. The cheapest such nodes, the last of them
//     in part, cost at least that much.
//     They are also at least as many as the largest nodes that offer so much, and so many of the cheapest.
//  3. The same for the pods that node selectors, node affinity or taints restrict to some nodes. The costs of restrictions
//     that share no node add up.
//  4. Pods that keep each other out of a domain stay in as many domains as they are in, and each domain has its cheapest node.
//  5. Pods with a hard spread constraint leave each domain that stays a number of pods, for which the domain has nodes.
//
// Every cost is a sum of prices, so that the bound is a multiple of their greatest common divisor.
func (p *Planner) bound() int64 {
	if p.in.FreeDomains != "" {
		return p.boundDomains()
	}
	b := &bounder{Planner: p, schema: p.base.Schema().Len()}
	b.read()
	best := b.up(max(b.cover(nil, nil), b.restricted()))
	return max(best, b.up(b.domains()), b.up(b.spreads()))
}

// bounder computes the bound.
type bounder struct {
	*Planner
	schema  int
	divisor int64
	held    int64              // what the nodes that are held cost
	offers  []resources.Vector // by slot: what pods that may move can use when the node stays
	asks    []resources.Vector // by slot: what the pods that may move ask for there
}

func (b *bounder) read() {
	b.offers, b.asks = make([]resources.Vector, len(b.nodes)), make([]resources.Vector, len(b.nodes))
	for i := range b.nodes {
		n := &b.nodes[i]
		if n.object == nil {
			continue
		}
		for rest := n.price; rest != 0; { // the greatest common divisor
			b.divisor, rest = rest, b.divisor%rest
		}
		if n.held != "" {
			b.held += n.price
		}
		free, asks := make(resources.Vector, b.schema), make(resources.Vector, b.schema)
		free.Add(n.offer)
		free.Sub(b.base.Requested(i))
		for _, id := range n.loads {
			requests, _ := b.base.PodRequests(b.loads[id].old)
			asks.Add(requests)
		}
		free.Add(asks)
		for c := range free {
			free[c] = max(free[c], asks[c]) // an overcommitted node keeps what it has
		}
		b.offers[i], b.asks[i] = free, asks
	}
}

// up rounds a cost up to a sum of prices.
func (b *bounder) up(cost int64) int64 {
	if b.divisor == 0 {
		return cost
	}
	return (cost + b.divisor - 1) / b.divisor * b.divisor
}

// cover returns the least cost of nodes that offer what some pods ask for, in the resource for which this costs most. The nodes
// that are held are among them. only reports which loads count, nil all; may reports which nodes take them, nil all.
func (b *bounder) cover(only func(id int32) bool, may []bool) (worst int64) {
	need, offers := b.asksOf(only), make([]resources.Vector, len(b.nodes))
	for i := range b.nodes {
		if offers[i] = b.offers[i]; may != nil && !may[i] {
			offers[i] = need[i]
		}
	}
	for c := range b.schema {
		demand := int64(0)
		for i := range need {
			demand = resources.Add(demand, need[i].At(c))
		}
		worst = max(worst, b.coverColumn(c, demand, offers, may))
	}
	return worst
}

// asksOf returns what some loads ask for by slot.
func (b *bounder) asksOf(only func(id int32) bool) []resources.Vector {
	if only == nil {
		return b.asks
	}
	out := make([]resources.Vector, len(b.nodes))
	for i := range b.nodes {
		out[i] = make(resources.Vector, b.schema)
		for _, id := range b.nodes[i].loads {
			if only(id) {
				requests, _ := b.base.PodRequests(b.loads[id].old)
				out[i].Add(requests)
			}
		}
	}
	return out
}

// coverColumn is cover for one resource.
func (b *bounder) coverColumn(c int, demand int64, offers []resources.Vector, may []bool) int64 {
	cost := int64(0)
	var order []int
	for i := range b.nodes {
		n := &b.nodes[i]
		switch {
		case n.object == nil:
		case n.held != "":
			if may == nil || may[i] {
				cost += n.price
			}
			demand -= offers[i].At(c)
		case offers[i].At(c) > 0:
			order = append(order, i)
		}
	}
	held, total := cost, demand
	slices.SortFunc(order, func(x, y int) int { // price / offer, without fractions
		xh, xl := bits.Mul64(uint64(b.nodes[x].price), uint64(offers[y].At(c)))
		yh, yl := bits.Mul64(uint64(b.nodes[y].price), uint64(offers[x].At(c)))
		return cmp.Or(cmp.Compare(xh, yh), cmp.Compare(xl, yl))
	})
	for _, i := range order {
		offer := offers[i].At(c)
		used := min(offer, max(0, demand))
		cost, demand = cost+part(used, offer, b.nodes[i].price), demand-used
	}
	return max(cost, held+b.cheapest(c, total, offers, order))
}

// cheapest returns what so many of the nodes cost at least as the largest of them must be to offer the demand.
func (b *bounder) cheapest(c int, demand int64, offers []resources.Vector, nodes []int) int64 {
	var amounts, prices []int64
	for _, i := range nodes {
		amounts, prices = append(amounts, offers[i].At(c)), append(prices, b.nodes[i].price)
	}
	slices.Sort(amounts)
	slices.Sort(prices)
	sum := int64(0)
	for k := 0; demand > 0 && k < len(nodes); k++ {
		demand -= amounts[len(amounts)-1-k]
		sum += prices[k]
	}
	return sum
}

// part returns what the used part of an offer costs, rounded up.
func part(used, offer, price int64) int64 {
	hi, lo := bits.Mul64(uint64(price), uint64(used))
	lo, carry := bits.Add64(lo, uint64(offer-1), 0)
	q, _ := bits.Div64(hi+carry, lo, uint64(offer))
	return int64(q)
}

// restriction is the pods that node selectors, node affinity and tolerations let go to the same nodes.
type restriction struct {
	loads map[int32]bool
	may   []bool // nodes that take the pods, and nodes where they are
	cost  int64
}

// restrictions sorts the pods that may move by what restricts them to nodes.
func (b *bounder) restrictions() (all []*restriction) {
	byKey := map[string]*restriction{}
	var buffer []byte
	for id := range b.loads {
		pod := b.loads[id].old
		buffer = podkey.NodeAffinity(buffer[:0], pod)
		buffer = key.Len(buffer, len(pod.Spec.Tolerations))
		for _, t := range pod.Spec.Tolerations {
			buffer = key.Text(key.Text(key.Text(key.Text(buffer, t.Key), string(t.Operator)), t.Value), string(t.Effect))
		}
		c := byKey[string(buffer)]
		if c == nil {
			c = &restriction{loads: map[int32]bool{}, may: b.allowed(pod)}
			byKey[string(buffer)] = c
			all = append(all, c)
		}
		c.loads[int32(id)] = true
		c.may[b.loads[id].slot] = true
	}
	return all
}

// restricted returns the cost that the pods with the same restriction to some nodes need, summed up over restrictions that share
// no node. Held nodes outside of them are added.
func (b *bounder) restricted() int64 {
	classes := b.restrictions()
	for _, c := range classes {
		c.cost = b.cover(func(id int32) bool { return c.loads[id] }, c.may)
	}
	slices.SortStableFunc(classes, func(x, y *restriction) int { return cmp.Compare(y.cost, x.cost) })
	taken := make([]bool, len(b.nodes))
	sum := int64(0)
	for _, c := range classes {
		overlaps := false
		for i := range taken {
			overlaps = overlaps || taken[i] && c.may[i]
		}
		if overlaps {
			continue
		}
		sum += c.cost
		for i := range taken {
			taken[i] = taken[i] || c.may[i]
		}
	}
	for i := range b.nodes {
		if n := &b.nodes[i]; n.held != "" && !taken[i] {
			sum += n.price
		}
	}
	return sum
}

// allowed returns which nodes the pod's node affinity and tolerations allow.
func (b *bounder) allowed(pod *v1.Pod) []bool {
	tolerations := taints.Compile(pod.Spec.Tolerations, decider.Tolerations(b.real))
	selector, _ := affinity.CompileRequired(pod) // an error names terms that match no node
	may := make([]bool, len(b.nodes))
	tainted, cordon := tolerations.On(b.base), tolerations.OnCordon(b.base)
	for i := range may {
		n := b.nodes[i].object
		may[i] = b.nodes[i].kind != nil || n != nil && (b.real.Filter("TaintToleration") == nil || tainted.Check(i) == 0) &&
			(b.real.Filter("NodeUnschedulable") == nil || cordon.Check(i) == 0) &&
			(b.real.Filter("NodeAffinity") == nil || selector.Matches(n))
	}
	return may
}

// domains returns the cost of the domains in which pods that keep each other out stay, for the kind that needs most.
func (b *bounder) domains() int64 {
	worst := b.held
	if b.real.Filter("InterPodAffinity") == nil {
		return worst
	}
	for _, k := range b.kinds {
		if k.pods == nil || k.rep.Spec.Affinity.PodAntiAffinity == nil {
			continue
		}
		for _, term := range k.rep.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			if excludesItself(k.rep, term) {
				worst = max(worst, b.held+b.domainsOf(k, term.TopologyKey))
			}
		}
	}
	return worst
}

// domainsOf returns the cost beside the held nodes of as many domains of a topology key as the kind is in. No move makes them
// fewer: a pod that leaves a domain goes to one that has no such pod.
func (b *bounder) domainsOf(k *kind, topology string) int64 {
	cheapest := map[string]int64{}
	for i := range b.nodes {
		n := &b.nodes[i]
		if n.object == nil {
			continue
		}
		value, ok := n.object.Labels[topology]
		if !ok {
			continue
		}
		price := n.price
		if n.held != "" {
			price = 0
		}
		if known, ok := cheapest[value]; ok {
			price = min(price, known)
		}
		cheapest[value] = price
	}
	in := map[string]bool{}
	for slot := range k.at {
		if value, ok := b.nodes[slot].object.Labels[topology]; ok {
			in[value] = true
		}
	}
	var prices []int64
	for _, price := range cheapest {
		prices = append(prices, price)
	}
	slices.Sort(prices)
	sum := int64(0)
	for _, price := range prices[:len(in)] {
		sum += price
	}
	return sum
}

// excludesItself reports whether a required anti-affinity term of a pod keeps out pods like it.
func excludesItself(pod *v1.Pod, term v1.PodAffinityTerm) bool {
	if len(term.Namespaces) > 0 || term.NamespaceSelector != nil {
		return false
	}
	return must.Get(metav1.LabelSelectorAsSelector(term.LabelSelector)).Matches(labels.Set(pod.Labels))
}
