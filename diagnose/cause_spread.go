package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/spread"
)

// domain is a domain of a spread constraint.
type domain struct {
	spread.Domain
	slots []int // of the nodes that count
	open  bool  // one of its nodes is open
}

// spreads is the state of spread constraints.
type spreads interface {
	Report() []spread.Report
	Explain(i int) []spread.Skew
}

// spread returns the cause of a spread constraint: the domain with the fewest pods is closed, there are fewer domains than minDomains,
// or the domains of its nodes are full.
func (x *sought) spread(slots []int, f failure) *Cause {
	state, ok := f.of.(spreads)
	if !ok {
		return x.other(slots, f)
	}
	for _, r := range state.Report() {
		if !slices.ContainsFunc(slots, func(i int) bool {
			return slices.ContainsFunc(state.Explain(i), func(s spread.Skew) bool { return s.Constraint == r.Constraint && !s.Allows && !s.Missing })
		}) {
			continue
		}
		list := x.domains(r)
		if len(list) == 0 {
			continue
		}
		field := fmt.Sprintf("spec.topologySpreadConstraints[%d]", r.Constraint)
		if len(x.pod.Spec.TopologySpreadConstraints) == 0 { // a default of the profile
			field = "spec.topologySpreadConstraints"
		}
		out := &Cause{Type: causeSpread, Field: field + ".maxSkew", Wanted: decimal(int64(r.MaxSkew)), Found: heights(r.Key, x, list)}
		switch {
		case r.TooFew:
			out.Field, out.Wanted, out.Found = field+".minDomains", decimal(int64(r.MinDomains)), decimal(int64(len(list)))
			out.Text = fmt.Sprintf("minDomains is %d and %s %s of %s, so that each may have %d of its pods", r.MinDomains, verb(len(list), "there is", "there are"), count(len(list), "domain"), r.Key, r.MaxSkew)
		case !list[0].open:
			x.fewest(r.Key, list)
			x.emptyDomain(out, r, list[0])
		default:
			x.fewest(r.Key, list)
			out.Text = fmt.Sprintf("spread by %s: %s; maxSkew is %d", r.Key, out.Found, r.MaxSkew)
		}
		return out
	}
	return &Cause{Type: causeSpread, Field: "spec.topologySpreadConstraints", Text: x.facts(f, slots[0])}
}

// fewest notes the nodes of the domains with the fewest pods.
func (x *sought) fewest(key string, list []domain) {
	if key == v1.LabelHostname { // a node more is a domain of its own
		return
	}
	x.wanted = map[int]bool{}
	for _, d := range list {
		for _, i := range d.slots {
			x.wanted[i] = x.wanted[i] || d.Pods == list[0].Pods
		}
	}
}

// emptyDomain fills in the cause of a constraint whose domain with the fewest pods has no open node.
func (x *sought) emptyDomain(out *Cause, r spread.Report, lowest domain) {
	var shut []closing
	for _, i := range lowest.slots {
		if x.inPool[i] {
			shut = append(shut, x.closingOf(x.c.Node(i)))
		}
	}
	if len(shut) == 0 { // the pod must not go there in any case
		out.Text = fmt.Sprintf("spread by %s: %s; maxSkew is %d, and %s has no node for it", r.Key, out.Found, r.MaxSkew, x.domainName(r.Key, lowest))
		return
	}
	out.Type = causeEmptyDomain
	out.Text = fmt.Sprintf("%s; maxSkew is %d, and %s", out.Found, r.MaxSkew, states(shut, false))
	if shut[0].row.of == causeCordoned {
		out.Not = fmt.Sprintf("uncordon %s before its maintenance is over", shut[0].node.Name)
	}
}

// domains returns the domains of a report, those with the fewest pods first; of equal ones those without an open node.
func (x *sought) domains(r spread.Report) []domain {
	excluded := map[int]bool{}
	for _, e := range r.Excluded {
		excluded[e.Slot] = true
	}
	at := map[string]int{}
	var out []domain
	for k, d := range r.Domains {
		at[d.Value] = k
		out = append(out, domain{Domain: d})
	}
	for _, i := range x.slots {
		if k, ok := at[x.c.Node(i).Labels[r.Key]]; ok && !excluded[i] {
			out[k].slots = append(out[k].slots, i)
			out[k].open = out[k].open || x.inOpen[i]
		}
	}
	slices.SortFunc(out, func(a, b domain) int {
		open := map[bool]int{true: 1}
		return cmp.Or(cmp.Compare(a.Pods, b.Pods), cmp.Compare(open[a.open], open[b.open]), cmp.Compare(a.Value, b.Value))
	})
	return out
}

// heights says how many pods domains have: "n1 has 1 pod, n2 and n3 have 0".
func heights(key string, x *sought, list []domain) string {
	byPods := map[int][]string{}
	for _, d := range list {
		byPods[d.Pods] = append(byPods[d.Pods], x.domainName(key, d))
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
func (x *sought) domainName(key string, d domain) string {
	switch w := domainWord(key); {
	case key == v1.LabelHostname && len(d.slots) == 1:
		return x.c.Node(d.slots[0]).Name
	case w != "domain":
		return w + " " + d.Value
	}
	return d.Value
}
