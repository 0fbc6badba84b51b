package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// domain is a domain of a spread constraint.
type domain struct {
	value string
	pods  int
	slots []int
	open  bool // one of its nodes is open
}

// spread returns the cause of a spread constraint: the domain with the fewest pods is closed, there are fewer domains than minDomains,
// or the domains of its nodes are full.
func (x *sought) spread(slots []int, f failure) *Cause {
	for k := range x.pod.Spec.TopologySpreadConstraints {
		c := &x.pod.Spec.TopologySpreadConstraints[k]
		if c.WhenUnsatisfiable != v1.DoNotSchedule {
			continue
		}
		list := x.domains(c)
		if len(list) == 0 {
			continue
		}
		lowest := list[0].pods
		field := fmt.Sprintf("spec.topologySpreadConstraints[%d]", k)
		tooFew := c.MinDomains != nil && len(list) < int(*c.MinDomains)
		if tooFew {
			lowest = 0
		}
		if !x.exceeds(c, list, lowest, slots) {
			continue
		}
		out := &Cause{Type: causeSpread, Field: field + ".maxSkew", Wanted: decimal(int64(c.MaxSkew))}
		switch {
		case tooFew:
			out.Field, out.Wanted, out.Found = field+".minDomains", decimal(int64(*c.MinDomains)), decimal(int64(len(list)))
			out.Text = fmt.Sprintf("minDomains is %d and %s %s of %s, so that each may have %d of its pods", *c.MinDomains, verb(len(list), "there is", "there are"), count(len(list), "domain"), c.TopologyKey, c.MaxSkew)
		case !list[0].open:
			out.Type = causeEmptyDomain
			var shut []closing
			for _, i := range list[0].slots {
				if x.inPool[i] {
					shut = append(shut, x.closingOf(x.c.Node(i)))
				}
			}
			out.Found = x.heights(c, list)
			if len(shut) == 0 { // the pod must not go there in any case
				out.Type = causeSpread
				out.Text = fmt.Sprintf("spread by %s: %s; maxSkew is %d, and %s has no node for it", c.TopologyKey, out.Found, c.MaxSkew, x.domainName(c, list[0]))
				break
			}
			out.Text = fmt.Sprintf("%s; maxSkew is %d, and %s", out.Found, c.MaxSkew, states(shut, false))
			if shut[0].row.of == causeCordoned {
				out.Not = fmt.Sprintf("uncordon %s before its maintenance is over", shut[0].node.Name)
			}
		default:
			out.Found = x.heights(c, list)
			out.Text = fmt.Sprintf("spread by %s: %s; maxSkew is %d", c.TopologyKey, out.Found, c.MaxSkew)
		}
		return out
	}
	return &Cause{Type: causeSpread, Field: "spec.topologySpreadConstraints", Text: x.facts(f, slots[0])}
}

// exceeds reports whether a constraint rejects one of some nodes.
func (x *sought) exceeds(c *v1.TopologySpreadConstraint, list []domain, lowest int, slots []int) bool {
	self := 0
	if spreadSelector(c, x.pod).Matches(labels.Set(x.pod.Labels)) {
		self = 1
	}
	return slices.ContainsFunc(slots, func(i int) bool {
		return slices.ContainsFunc(list, func(d domain) bool {
			return d.value == x.c.Node(i).Labels[c.TopologyKey] && d.pods+self-lowest > int(c.MaxSkew)
		})
	})
}

// heights says how many pods domains have: "n1 has 1 pod, n2 and n3 have 0".
func (x *sought) heights(c *v1.TopologySpreadConstraint, list []domain) string {
	byPods := map[int][]string{}
	for _, d := range list {
		byPods[d.pods] = append(byPods[d.pods], x.domainName(c, d))
	}
	keys := slices.SortedFunc(maps.Keys(byPods), func(a, b int) int { return cmp.Compare(b, a) })
	var out []string
	for _, n := range keys {
		names := byPods[n]
		text := fmt.Sprintf("%s %s %s", few(names), verb(len(names), "has", "have"), count(n, "pod"))
		if len(names) > 1 && n > 0 {
			text += " each"
		}
		out = append(out, text)
	}
	if len(out) > mostNamed {
		out = append(out[:mostNamed-1:mostNamed-1], "others have less", out[len(out)-1])
	}
	return strings.Join(out, ", ")
}

// domainName is what people call a domain: "zone a", or the name of its only node.
func (x *sought) domainName(c *v1.TopologySpreadConstraint, d domain) string {
	switch w := domainWord(c.TopologyKey); {
	case c.TopologyKey == v1.LabelHostname && len(d.slots) == 1:
		return x.c.Node(d.slots[0]).Name
	case w != "domain":
		return w + " " + d.value
	}
	return d.value
}

// spreadSelector returns the selector of a constraint with its matchLabelKeys.
func spreadSelector(c *v1.TopologySpreadConstraint, pod *v1.Pod) labels.Selector {
	s, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
	if err != nil {
		return labels.Nothing()
	}
	set := labels.Set{}
	for _, key := range c.MatchLabelKeys {
		if v, ok := pod.Labels[key]; ok {
			set[key] = v
		}
	}
	if more, ok := set.AsSelector().Requirements(); ok && len(set) > 0 {
		s = s.Add(more...)
	}
	return s
}

// domains returns the domains that a constraint counts, those with the fewest pods first; of equal ones those without an open node.
func (x *sought) domains(c *v1.TopologySpreadConstraint) []domain {
	s := spreadSelector(c, x.pod)
	byValue := map[string]*domain{}
	honors := func(p *v1.NodeInclusionPolicy, unset bool) bool {
		if p == nil {
			return unset
		}
		return *p == v1.NodeInclusionPolicyHonor
	}
	for _, i := range x.slots {
		n := x.c.Node(i)
		v, ok := n.Labels[c.TopologyKey]
		if !ok || honors(c.NodeAffinityPolicy, true) && !x.matches(i) || honors(c.NodeTaintsPolicy, false) && slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return keepsOff(x.pod, t) }) {
			continue
		}
		d := byValue[v]
		if d == nil {
			d = &domain{value: v}
			byValue[v] = d
		}
		d.slots = append(d.slots, i)
		d.open = d.open || x.inOpen[i]
		for p := range x.c.Pods(i) {
			if p.Namespace == x.pod.Namespace && p.DeletionTimestamp == nil && s.Matches(labels.Set(p.Labels)) {
				d.pods++
			}
		}
	}
	var out []domain
	for _, d := range byValue {
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b domain) int {
		open := map[bool]int{true: 1}
		return cmp.Or(cmp.Compare(a.pods, b.pods), cmp.Compare(open[a.open], open[b.open]), cmp.Compare(a.value, b.value))
	})
	return out
}

// matches reports whether a node matches the pod's node selector and node affinity.
func (x *sought) matches(i int) bool {
	for _, p := range x.a.Predicates {
		if p.Name() == ofAffinity {
			return p.Check(i) == 0
		}
	}
	return true
}
