package consolidation

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// emptied is the annotation of a node that the plan empties, on a copy of the node's object.
const emptied = "podberth.io/emptied"

// cordoned returns a copy of a node that is cordoned and marked as a node to empty. A node that is not removed is not cordoned.
func (p *Planner) cordoned(i int) *v1.Node {
	n := p.nodes[i].object
	c := *n
	c.Spec.Unschedulable = n.Spec.Unschedulable || p.removes()
	c.Annotations = map[string]string{emptied: ""}
	for k, v := range n.Annotations {
		c.Annotations[k] = v
	}
	return &c
}

// packingProfile returns the filters of the caller's profile with scores that fill nodes: nodes that stay anyway first, then nodes
// that offer much for their price, then full nodes.
func (p *Planner) packingProfile() placement.Profile {
	strategy := &score.Strategy{Type: "MostAllocated", Resources: []score.Resource{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}}
	schema := p.base.Schema()
	for c := resources.Scalars; c < schema.Len(); c++ {
		strategy.Resources = append(strategy.Resources, score.Resource{Name: string(schema.Name(c)), Weight: 1})
	}
	full := must.Get(placement.PluginArgs{NodeResourcesFit: placement.FitOptions{Args: score.FitArgs{ScoringStrategy: strategy}}}.Plugin("NodeResourcesFit"))
	ranks := p.ranks()
	all := func(dst []byte, _ *v1.Pod) []byte { return dst }
	worth := &placement.Plugin{
		Name: "Worth", Keep: placement.KeepByNode, AppendKey: all,
		Score: func(_ *v1.Pod, c placement.Cluster) (placement.Scorer, error) { return rank(ranks), nil },
	}
	leave := &placement.Plugin{
		Name: "Emptied", Keep: placement.KeepByNode, AppendKey: all,
		Filter: func(_ *v1.Pod, c placement.Cluster) placement.PreFiltered {
			return placement.PreFiltered{Predicate: leaving{c}}
		},
	}
	out := p.real
	out.Filters = append(slices.Clone(p.real.Filters), leave)
	out.Scores = []placement.Weighted{{Plugin: full, Weight: 1}, {Plugin: worth, Weight: 1}}
	return out
}

// packs returns the packing profile for one snapshot. The memo keeps the compiled terms of running pods.
func (p *Planner) packs(m *engine.Memo) placement.Profile {
	out := p.packing
	out.Filters = slices.Clone(out.Filters)
	for k, f := range out.Filters {
		o, ok := f.Args.(affinity.PodOptions)
		if !ok {
			continue
		}
		c := *f
		c.Filter = func(pod *v1.Pod, over placement.Cluster) placement.PreFiltered {
			e, err := affinity.CompilePods(pod, o)
			if err != nil {
				return placement.PreFiltered{Code: filter.UnschedulableAndUnresolvable, Reasons: []string{err.Error()}}
			}
			s := countTerms(e, over, m)
			if s.Skip() {
				return placement.PreFiltered{Code: filter.Skip}
			}
			return placement.PreFiltered{Predicate: s}
		}
		out.Filters[k] = &c
	}
	return out
}

// leaving rejects the nodes that the plan empties.
type leaving struct{ cluster placement.Cluster }

// Name returns the name of the filter.
func (leaving) Name() string { return "Emptied" }

// Check rejects a free slot and a node that is marked.
func (l leaving) Check(i int) resources.Verdict {
	n := l.cluster.Node(i)
	if n == nil {
		return 1 | resources.Unresolvable
	}
	if _, marked := n.Annotations[emptied]; marked {
		return 1 | resources.Unresolvable
	}
	return 0
}

// Reasons returns the text of a verdict.
func (leaving) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{"node(s) were to be emptied"}
}

// AppendSignature appends the verdict.
func (l leaving) AppendSignature(dst []int32, i int) []int32 { return append(dst, int32(l.Check(i)&1)) }

// rank is a score of nodes by slot.
type rank []int64

// Raw returns the score of a slot.
func (r rank) Raw(i int) int64 { return r[i] }

// AppendSignature appends the score.
func (r rank) AppendSignature(dst []int32, i int) []int32 { return append(dst, int32(r.Raw(i))) }

// ranks returns 100 for nodes that stay anyway, and up to 60 for the nodes that offer most for their price.
func (p *Planner) ranks() rank {
	total, r := p.total(), make(rank, len(p.nodes))
	offers := func(i int) float64 { return share(p.nodes[i].offer, total) / float64(max(1, p.nodes[i].price)) }
	var all []float64
	for i := range p.nodes {
		if p.nodes[i].object != nil {
			all = append(all, offers(i))
		}
	}
	slices.SortFunc(all, cmp.Compare[float64])
	all = slices.Compact(all)
	for i := range p.nodes {
		switch n := &p.nodes[i]; {
		case n.object == nil:
		case n.held != "" || p.keeps(i):
			r[i] = 100
		case len(all) > 1:
			at, _ := slices.BinarySearch(all, offers(i))
			r[i] = int64(60 * at / (len(all) - 1))
		}
	}
	return r
}
