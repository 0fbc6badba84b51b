package consolidation

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/spread"
)

// mostZones is the largest number of values of a topology key for which every set of values is tried.
const mostZones = 6

// spreads returns the cost that hard spread constraints need, for the topology key that needs most. Of N pods that are spread over k
// domains with maxSkew s the smallest domain has at least (N - (k-1)s) / k, rounded up. So each domain that stays offers what so many
// pods of each app ask for. Which domains stay is not known: the cheapest set of domains counts.
func (b *bounder) spreads() int64 {
	worst := b.held
	if b.real.Filter("PodTopologySpread") == nil {
		return worst
	}
	apps := map[string][]*spreadApp{}
	for _, k := range b.kinds {
		if a, key := b.spreadApp(k); a != nil {
			apps[key] = append(apps[key], a)
		}
	}
	for key, list := range apps {
		worst = max(worst, b.spreadOver(key, list))
	}
	return worst
}

// spreadApp is the pods that one hard constraint counts. All of them have the constraint.
type spreadApp struct {
	pods, skew, least int32            // least: minDomains
	fixed             map[string]int32 // pods that do not move, by domain
	counted           map[string]bool  // the domains that the constraint counts before the plan
	asks              resources.Vector // what each pod that may move asks for at least
}

// spreadApp returns the pods of a kind and the topology key; nil when the rule of the bound does not hold for the kind: the kind has
// several constraints or other rules about nodes, pods of other kinds count, or the constraint does not hold before the plan.
func (b *bounder) spreadApp(k *kind) (*spreadApp, string) {
	spec := &k.rep.Spec
	if len(spec.TopologySpreadConstraints) != 1 || len(spec.NodeSelector) > 0 || spec.Affinity != nil {
		return nil, ""
	}
	c := &spec.TopologySpreadConstraints[0]
	if len(c.MatchLabelKeys) > 0 || c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor {
		return nil, ""
	}
	selector := must.Get(metav1.LabelSelectorAsSelector(c.LabelSelector))
	for _, broken := range k.broken {
		if broken {
			return nil, ""
		}
	}
	out := &spreadApp{skew: c.MaxSkew, least: podinfo.MinDomains(c), fixed: map[string]int32{}, counted: map[string]bool{}}
	moves := int32(0)
	for i := range b.nodes {
		if b.nodes[i].object == nil || b.nodes[i].kind != nil {
			continue
		}
		domain, has := b.nodes[i].object.Labels[c.TopologyKey]
		here := int32(0)
		for pod := range b.base.Pods(i) {
			if pod.Namespace == k.rep.Namespace && pod.DeletionTimestamp == nil && selector.Matches(labels.Set(pod.Labels)) {
				here++
			}
		}
		if here != k.at[int32(i)] || here > 0 && !has {
			return nil, "" // pods of other kinds count
		}
		if slices.ContainsFunc(b.nodes[i].tied, func(pod *v1.Pod) bool {
			return pod.DeletionTimestamp == nil && pod.Namespace == k.rep.Namespace && selector.Matches(labels.Set(pod.Labels))
		}) {
			return nil, "" // the number of pods changes
		}
		for _, id := range b.nodes[i].loads {
			if l := &b.loads[id]; l.kind >= 0 && b.kinds[l.kind] == k {
				here--
				moves++
				out.asks = least(out.asks, l.asks)
			}
		}
		out.pods += k.at[int32(i)]
		out.fixed[domain] += here
	}
	if moves == 0 {
		return nil, ""
	}
	for _, r := range must.Get(spread.CompileHard(k.rep, spread.Options{})).Count(b.base).Report() {
		for _, d := range r.Domains {
			out.counted[d.Value] = true
		}
	}
	return out, c.TopologyKey
}

// least returns the smaller amount of each column; a is nil for the first.
func least(a, asks resources.Vector) resources.Vector {
	if a == nil {
		return slices.Clone(asks)
	}
	for c := range a {
		a[c] = min(a[c], asks.At(c))
	}
	return a
}

// spreadOver returns the cost for the apps of one topology key: the least over the sets of domains that may stay.
func (b *bounder) spreadOver(key string, apps []*spreadApp) int64 {
	place := map[string]int{}
	var values []string
	zone := make([]uint, len(b.nodes)) // by slot: the bit of the domain; 0: no domain
	var needed uint                    // domains with a node that is held
	for i := range b.nodes {
		n := &b.nodes[i]
		if n.object == nil {
			continue
		}
		value, ok := n.object.Labels[key]
		if !ok {
			continue
		}
		at, known := place[value]
		if !known {
			at = len(values)
			place[value] = at
			values = append(values, value)
		}
		if zone[i] = 1 << at; n.held != "" {
			needed |= zone[i]
		}
	}
	if len(values) == 0 || len(values) > mostZones {
		return b.held
	}
	total := make(resources.Vector, b.schema)
	for i := range b.asks {
		total.Add(b.asks[i])
	}
	var costs []int64
	for set := uint(1); set < 1<<len(values); set++ {
		if set&needed == needed {
			costs = append(costs, b.spreadCost(values, zone, set, apps, total))
		}
	}
	return slices.Min(costs)
}

// spreadCost returns the cost when the nodes of a set of domains stay, and those without a domain.
func (b *bounder) spreadCost(values []string, zone []uint, set uint, apps []*spreadApp, total resources.Vector) int64 {
	sum := int64(0)
	domains := make([]int, len(apps)) // that stay and count
	for k, a := range apps {
		for z, value := range values {
			if set>>z&1 == 1 && a.counted[value] {
				domains[k]++
			}
		}
	}
	for z, value := range values {
		bit := uint(1) << z
		if set&bit == 0 {
			continue
		}
		demand := make(resources.Vector, b.schema)
		for k, a := range apps {
			if !a.counted[value] {
				continue
			}
			n := a.smallest(domains[k]) - a.fixed[value]
			for range n {
				demand.Add(a.asks)
			}
		}
		sum += b.coverZone(zone, bit, demand, false)
	}
	for i := range b.nodes { // held nodes without a domain
		if n := &b.nodes[i]; n.object != nil && n.held != "" && zone[i] == 0 {
			sum += n.price
		}
	}
	return max(sum, b.coverZone(zone, set, total, true))
}

// smallest returns how many pods the smallest of so many domains has at least.
func (a *spreadApp) smallest(domains int) int32 {
	if podinfo.TooFewDomains(domains, a.least) {
		return 0
	}
	k := int64(domains) // a product of two int32 may be larger than int32
	return int32(max(0, (int64(a.pods)-(k-1)*(int64(a.skew)-1))/k))
}

// coverZone returns the least cost of nodes of some domains that offer a demand, at least that of one node. With all the demand of the
// cluster the nodes without a domain offer too, and no node is needed.
func (b *bounder) coverZone(zone []uint, set uint, demand resources.Vector, all bool) (worst int64) {
	may := make([]bool, len(b.nodes))
	offers := make([]resources.Vector, len(b.nodes))
	var prices []int64
	for i := range b.nodes {
		if zone[i]&set != 0 || zone[i] == 0 && all {
			may[i], offers[i] = true, b.offers[i]
			prices = append(prices, b.nodes[i].price)
		}
	}
	if !all {
		worst = slices.Min(prices)
	}
	for c := range b.schema {
		worst = max(worst, b.up(b.coverColumn(c, demand.At(c), offers, may)))
	}
	return worst
}
