package affinity

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

func (s *nodeState) Explain(i int) []string {
	n := s.nodes.Node(i)
	if n == nil {
		return nil
	}
	return s.evaluator.explain(n)
}

func (e *nodeEvaluator) explain(node *v1.Node) []string {
	var out, missing []string
	for _, p := range e.required.pairs {
		if v, ok := node.Labels[p.key]; !ok || v != p.value {
			missing = append(missing, p.key+"="+p.value)
		}
	}
	if len(missing) > 0 {
		out = append(out, "node selector: the node lacks "+strings.Join(missing, ", "))
	}
	out = e.added.required.explain(out, "profile term", node)
	return e.required.explain(out, "term", node)
}

// explain appends a text for each term when none matches.
func (s *Selector) explain(dst []string, what string, node *v1.Node) []string {
	if s.matchesTerms(node) {
		return dst
	}
	for i := range s.terms {
		dst = append(dst, fmt.Sprintf("%s %d%s", what, i+1, s.terms[i].explain(node)))
	}
	return dst
}

func (t *nodeTerm) explain(node *v1.Node) string {
	if t.err != nil {
		return fmt.Sprintf(" never matches: %v", t.err)
	}
	var failed []string
	for i := range t.exprs {
		if !t.exprs[i].matches(node.Labels) {
			failed = append(failed, t.exprs[i].String())
		}
	}
	for i := range t.fields {
		if f := &t.fields[i]; node.Name != "" && !f.matches(node) {
			op := " in ("
			if !f.in {
				op = " notin ("
			}
			failed = append(failed, f.key+op+f.value+")")
		}
	}
	return ": does not hold: " + strings.Join(failed, ", ")
}
