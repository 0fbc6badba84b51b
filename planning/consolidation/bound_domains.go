package consolidation

import (
	"slices"

	"github.com/podberth/podberth/resources"
)

// anyway stands for all nodes that stay whatever the plan does, in a map of domains by their first nodes.
const anyway = -1

// boundDomains returns a number of domains that no plan frees. Each part is a smaller problem that every plan solves, and the largest answer
// counts:
//
//  1. Domains with a held node stay. Nodes without the label do too, and cost nothing.
//  2. For each resource the nodes that stay offer what the pods that may move ask for. So at least as many other domains stay as the largest of
//     them must be to offer what is missing. The same for the pods that node selectors, node affinity or taints restrict to some nodes.
//  3. Pods that keep each other out of a host or a zone stay in as many of these as they are in.
func (p *Planner) boundDomains() int64 {
	b := &bounder{Planner: p, schema: p.base.Schema().Len()}
	b.read()
	kept, more := int64(0), b.missing(b.asks, b.offers)
	for i := range p.nodes {
		if p.nodes[i].stays {
			kept++
		}
	}
	for _, c := range b.restrictions() {
		asks := b.asksOf(func(id int32) bool { return c.loads[id] })
		offers := slices.Clone(b.offers)
		for i := range offers {
			if !c.may[i] {
				offers[i] = asks[i]
			}
		}
		more = max(more, b.missing(asks, offers))
	}
	return kept + max(more, b.apart())
}

// missing returns how many domains without a held node stay at least, in the resource for which these are most.
func (b *bounder) missing(asks, offers []resources.Vector) (most int64) {
	for c := range b.schema {
		demand, sums := int64(0), map[int]int64{}
		for i := range b.nodes {
			if b.nodes[i].object != nil {
				demand = resources.Add(demand, asks[i].At(c))
				sums[b.lead(i)] = resources.Add(sums[b.lead(i)], offers[i].At(c))
			}
		}
		most = max(most, fewest(demand, sums))
	}
	return most
}

// lead returns the first node of the domain of a node; anyway if the node stays.
func (b *bounder) lead(i int) int {
	if b.keeps(i) {
		return anyway
	}
	return b.leads[i]
}

// fewest returns how many domains must stay so that they offer the demand with what stays anyway: the largest.
func fewest(demand int64, sums map[int]int64) (count int64) {
	var largest []int64
	for at, n := range sums {
		if at == anyway {
			demand -= n
		} else {
			largest = append(largest, n)
		}
	}
	slices.Sort(largest)
	for k := len(largest) - 1; k >= 0 && demand > 0; k-- {
		demand -= largest[k]
		count++
	}
	return count
}

// apart returns how many domains without a held node stay at least because of anti-affinity: pods that keep each other out of the values of a
// label are in as many values after the plan as before. A label that a node lacks proves nothing.
func (b *bounder) apart() (most int64) {
	if b.real.Filter("InterPodAffinity") == nil {
		return 0
	}
	for _, k := range b.kinds {
		if k.pods == nil || k.rep.Spec.Affinity.PodAntiAffinity == nil {
			continue
		}
		for _, term := range k.rep.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			if excludesItself(k.rep, term) {
				most = max(most, b.apartBy(k, term.TopologyKey))
			}
		}
	}
	return most
}

func (b *bounder) apartBy(k *kind, key string) int64 {
	type place struct {
		lead  int
		value string
	}
	seen, in, sums := map[place]bool{}, map[string]bool{}, map[int]int64{}
	for i := range b.nodes {
		if b.nodes[i].object == nil {
			continue
		}
		value, ok := b.nodes[i].object.Labels[key]
		if !ok {
			return 0
		}
		if at := (place{b.lead(i), value}); !seen[at] {
			seen[at] = true
			sums[at.lead]++
		}
		if k.at[int32(i)] > 0 {
			in[value] = true
		}
	}
	return fewest(int64(len(in)), sums)
}
