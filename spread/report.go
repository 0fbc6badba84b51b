package spread

import (
	"fmt"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// unlimited is the room of a domain that takes any number of pods.
const unlimited = math.MaxInt

// Report describes the spread of one constraint over a cluster (rule S10.1).
type Report struct {
	Constraint int // index in the pod's list or in the default constraints
	Key        string
	Selector   string // "<none>" for a nil selector, "<empty>" for {}
	MaxSkew    int
	MinDomains int
	Self       int      // 1 when the pod matches its own selector, otherwise 0
	Minimum    int      // the global minimum
	TooFew     bool     // there are fewer domains than minDomains: Minimum is 0
	SetBy      []string // values of the domains whose count is the minimum; nil when TooFew
	Domains    []Domain // ordered by value
	Excluded   []Exclusion
}

// Domain is a value of the topology key that counts.
type Domain struct {
	Value string
	Pods  int // number of matching pods
	Nodes int // number of existing nodes that count; 0 for a planned domain
	// Room is how many pods like this one the constraint allows in the domain, one after the other, while the other domains
	// stay as they are (rule S10.2). It is at least 0, and math.MaxInt for any number.
	Room int
}

// Exclusion is a node whose pods and domain do not count for the constraint, with the reason.
type Exclusion struct {
	Slot     int
	Node     string
	Missing  []string // topology keys of the pod's constraints that the node lacks
	Affinity bool     // nodeAffinityPolicy Honor: nodeSelector or required node affinity does not match
	Taints   bool     // nodeTaintsPolicy Honor: a taint is not tolerated
}

// String returns the report as a few lines.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "constraint %d: %s, maxSkew %d, minDomains %d, selector %s\n", r.Constraint, r.Key, r.MaxSkew, r.MinDomains, r.Selector)
	for _, d := range r.Domains {
		room := fmt.Sprintf("room for %d", d.Room)
		if d.Room == unlimited {
			room = "room for any number"
		}
		fmt.Fprintf(&b, "  %s: %d pods on %d nodes, %s\n", d.Value, d.Pods, d.Nodes, room)
	}
	why := "set by " + strings.Join(r.SetBy, ", ")
	switch {
	case len(r.Domains) == 0:
		why = "no domain"
	case r.TooFew:
		why = fmt.Sprintf("%d of %d domains", len(r.Domains), r.MinDomains)
	}
	fmt.Fprintf(&b, "  minimum %d (%s)\n", r.Minimum, why)
	for _, e := range r.Excluded {
		fmt.Fprintf(&b, "  without %s\n", e.text())
	}
	return b.String()
}

// text returns the node's name and what excludes the node.
func (e Exclusion) text() string {
	var why []string
	if len(e.Missing) > 0 {
		why = append(why, "no label "+strings.Join(e.Missing, ", "))
	}
	if e.Affinity {
		why = append(why, "node affinity")
	}
	if e.Taints {
		why = append(why, "taints")
	}
	return e.Node + ": " + strings.Join(why, "; ")
}

func (s *hardState) Report() []Report {
	out := make([]Report, len(s.cols))
	for k := range s.cols {
		col, c := &s.cols[k], &s.hard.constraints[k]
		r := Report{Constraint: c.index, Key: c.key, Selector: s.hard.selectors.describe(c.selector), MaxSkew: int(c.maxSkew),
			MinDomains: int(c.minDomains), Self: int(col.self), Minimum: int(col.low), TooFew: !col.enough}
		r.Domains = s.domains(k)
		for _, d := range r.Domains {
			if !r.TooFew && d.Pods == r.Minimum {
				r.SetBy = append(r.SetBy, d.Value)
			}
		}
		out[k] = r
	}
	for i := range s.slots {
		if node := s.cluster.Node(i); node != nil && len(out) > 0 {
			s.exclude(out, i, node)
		}
	}
	return out
}

func (p *softEvaluator) Report(c Cluster) []Report {
	if p.requireAll {
		return (&hardEvaluator{p.evaluator}).Count(c).Report()
	}
	var out []Report
	for k := range p.constraints {
		one := p.evaluator
		one.constraints = p.constraints[k : k+1]
		out = append(out, (&hardEvaluator{one}).Count(c).Report()...)
	}
	return out
}

// exclude adds the node to the reports of the constraints for which it does not count.
func (s *hardState) exclude(reports []Report, i int, node *v1.Node) {
	var missing []string
	for _, key := range s.hard.Keys(nil) {
		if _, ok := node.Labels[key]; !ok {
			missing = append(missing, key)
		}
	}
	bits := s.hard.inclusion.exclusion(node)
	for k := range reports {
		own := bits & s.hard.constraints[k].honours
		if len(missing) > 0 || own != 0 {
			reports[k].Excluded = append(reports[k].Excluded, Exclusion{Slot: i, Node: node.Name, Missing: missing,
				Affinity: own&excludedByAffinity != 0, Taints: own&excludedByTaints != 0})
		}
	}
}

// domains returns the domains of constraint k, ordered by value.
func (s *hardState) domains(k int) []Domain {
	col := &s.cols[k]
	values := append(s.hard.values(s.cluster, k, &col.column), col.extra...)
	nodes := make([]int, len(values))
	for _, d := range col.into {
		if d >= 0 {
			nodes[d]++
		}
	}
	var out []Domain
	for d, value := range values {
		if col.absent == nil || !col.absent[d] {
			out = append(out, Domain{Value: value, Pods: int(col.counts[d]), Nodes: nodes[d], Room: s.room(k, d)})
		}
	}
	slices.SortFunc(out, func(a, b Domain) int { return strings.Compare(a.Value, b.Value) })
	return out
}

// room returns how many pods like this one constraint k allows in domain d.
func (s *hardState) room(k, d int) int {
	col := &s.cols[k]
	grows := col.self == 1 && s.hard.selectors.counting>>col.selector&1 != 0
	if !grows {
		if int(col.counts[d])+int(col.self)-int(col.low) <= int(col.maxSkew) {
			return unlimited
		}
		return 0
	}
	if !col.enough {
		return max(0, int(col.maxSkew)-int(col.counts[d]))
	}
	others, found := 0, false // smallest count of the other domains
	for x, n := range col.counts {
		if x != d && (col.absent == nil || !col.absent[x]) && (!found || int(n) < others) {
			others, found = int(n), true
		}
	}
	if !found && col.maxSkew > 0 {
		return unlimited // the only domain is itself the minimum
	}
	return max(0, int(col.maxSkew)+others-int(col.counts[d]))
}
