package affinity

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/resources"
)

// NodeExplanation is why node affinity rejects a node, or what the node scores.
type NodeExplanation struct {
	Verdict resources.Verdict // as Check returns it
	// Missing are the pairs of spec.nodeSelector, as key=value and sorted by key, that the node does not have.
	Missing []string
	// Added and Terms have an entry for each required term, of the profile and of the pod, with the reason why the term
	// does not match. They are empty when one of the terms matches or nothing is required.
	Added, Terms []TermExplanation
	// Preferred lists the preferred terms that match: the profile's first, then the pod's.
	Preferred []PreferredExplanation
	// Raw is the sum of the weights of Preferred.
	Raw int64
}

// TermExplanation is why one node selector term does not match a node.
type TermExplanation struct {
	Failed []string // the requirements that do not hold, as selectors; none when Err is set
	Err    error    // the term cannot be converted and never matches
}

// PreferredExplanation is a preferred term that matches a node.
type PreferredExplanation struct {
	Added  bool  // the profile's, not the pod's
	Index  int   // in its list
	Weight int64 // what it adds to the raw score
}

// explain returns what is behind check and raw of a node.
func (e *NodeEvaluator) explain(node *v1.Node) NodeExplanation {
	x := NodeExplanation{Verdict: e.check(node), Raw: e.raw(node)}
	for _, p := range e.required.pairs {
		if v, ok := node.Labels[p.key]; !ok || v != p.value {
			x.Missing = append(x.Missing, p.key+"="+p.value)
		}
	}
	x.Added = e.added.required.explain(node)
	x.Terms = e.required.affinity.explain(node)
	for i, list := range [][]preference{e.added.preferred, e.prefs} {
		for j := range list {
			if list[j].term.matches(node) {
				x.Preferred = append(x.Preferred, PreferredExplanation{i == 0, list[j].index, list[j].weight})
			}
		}
	}
	return x
}

// Explain returns the numbers behind Check and Raw of slot i. It allocates. For a free slot only Verdict is set.
func (s *NodeState) Explain(i int) NodeExplanation {
	if n := s.nodes.Node(i); n != nil {
		return s.evaluator.explain(n)
	}
	return NodeExplanation{Verdict: nodeMismatch}
}

func (s *Selector) explain(node *v1.Node) []TermExplanation {
	if s.Matches(node) {
		return nil
	}
	var out []TermExplanation
	for i := range s.terms {
		out = append(out, s.terms[i].explain(node))
	}
	return out
}

func (t *nodeTerm) explain(node *v1.Node) TermExplanation {
	x := TermExplanation{Err: t.err}
	if t.err != nil {
		return x
	}
	for i := range t.exprs {
		if !t.exprs[i].Matches(labels.Set(node.Labels)) {
			x.Failed = append(x.Failed, t.exprs[i].String())
		}
	}
	for i := range t.fields {
		if f := &t.fields[i]; node.Name != "" && !f.matches(node) {
			op := " in ("
			if !f.in {
				op = " notin ("
			}
			x.Failed = append(x.Failed, f.key+op+f.value+")")
		}
	}
	return x
}
