package affinity

import (
	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Selector is a compiled [v1.NodeSelector], or a pod's nodeSelector together with its required node affinity: label pairs,
// and terms of which one must match. Each term is a list of label and field requirements. A Selector is immutable and safe
// for concurrent use. The zero value and nil match every node, as a missing selector does.
type Selector struct {
	pairs   []pair // spec.nodeSelector, sorted by key
	present bool   // the selector has a list of terms; false: every node satisfies the terms
	terms   []nodeTerm
	err     error
	reads   []string // what Matches reads, each name once
}

// nodeTerm is one v1.NodeSelectorTerm. A term with err set matches nothing, and neither does a term without requirements.
type nodeTerm struct {
	exprs  []requirement
	fields []fieldRequirement
	err    error
}

type fieldRequirement struct {
	key, value string
	in         bool
}

// CompileSelector compiles a node selector by the rules of required node affinity (API reference, NodeSelector; rules A3.1
// to A3.5):
//
//  1. nil matches every node. A selector without terms matches no node.
//  2. A node must match one of the terms. An empty term matches no node.
//  3. A term with a requirement that cannot be converted never matches; other terms still can. Such requirements have an
//     unknown operator, In without values, Gt or Lt with an operand that is not an integer or not a legal label value, or
//     matchFields with other than one value.
//
// The error names by its path what cannot be converted; v1.37.2 ignores this error in the filter. The selector is valid
// even with an error.
func CompileSelector(selector *v1.NodeSelector) (*Selector, error) {
	s := compileSelector(selector, nil)
	return s, s.err
}

func compileSelector(selector *v1.NodeSelector, path *field.Path) *Selector {
	if selector == nil {
		return &Selector{}
	}
	s := &Selector{present: true}
	var errs []error
	var names reads
	s.terms = make([]nodeTerm, 0, len(selector.NodeSelectorTerms))
	for i := range selector.NodeSelectorTerms {
		t := &selector.NodeSelectorTerms[i]
		if emptyTerm(t) {
			continue
		}
		compiled := compileTerm(t, func() *field.Path { return path.Child("nodeSelectorTerms").Index(i) })
		if compiled.err != nil {
			errs = append(errs, compiled.err)
		}
		s.terms = append(s.terms, compiled)
		names.addTerm(&compiled)
	}
	s.reads = names.names
	s.err = aggregate(errs)
	return s
}

// Matches reports whether the node satisfies the selector. It reads only the labels and the name of the node, and allocates
// nothing. A nil Selector and the zero value match every node. The node must not be nil.
func (s *Selector) Matches(node *v1.Node) bool {
	return s == nil || s.selects(node) && s.matchesTerms(node)
}

func (s *Selector) matchesTerms(node *v1.Node) bool {
	if !s.present {
		return true
	}
	for i := range s.terms {
		if s.terms[i].matches(node) {
			return true
		}
	}
	return false
}

// Reads appends what Matches reads of a node: "label:KEY" for each label key, and "name" when the selector has matchFields.
// It does not append a name that dst already has. Nodes that are equal in all these names get the same answer. A nil
// Selector and a selector that matches every node read nothing.
func (s *Selector) Reads(dst []string) []string {
	if s == nil {
		return dst
	}
	if len(dst) == 0 {
		return append(dst, s.reads...)
	}
	names := reads{names: dst}
	names.addAll(s.reads)
	return names.names
}

func emptyTerm(t *v1.NodeSelectorTerm) bool {
	return len(t.MatchExpressions) == 0 && len(t.MatchFields) == 0
}

// compileTerm compiles a term. It makes the path of the term only for an error.
func compileTerm(t *v1.NodeSelectorTerm, path func() *field.Path) nodeTerm {
	var c nodeTerm
	var errs []error
	if len(t.MatchExpressions) > 0 {
		c.exprs = make([]requirement, 0, len(t.MatchExpressions))
	}
	for i := range t.MatchExpressions {
		e := &t.MatchExpressions[i]
		if r, ok := newRequirement(e); ok {
			c.exprs = append(c.exprs, r)
		} else {
			errs = append(errs, refusal(e, path().Child("matchExpressions").Index(i)))
		}
	}
	for i := range t.MatchFields {
		e := &t.MatchFields[i]
		switch {
		case e.Operator != v1.NodeSelectorOpIn && e.Operator != v1.NodeSelectorOpNotIn:
			errs = append(errs, field.NotSupported(path().Child("matchFields").Index(i).Child("operator"), e.Operator, fieldOperatorNames))
		case len(e.Values) != 1:
			errs = append(errs, field.Invalid(path().Child("matchFields").Index(i).Child("values"), e.Values, "must have one element"))
		default:
			c.fields = append(c.fields, fieldRequirement{e.Key, e.Values[0], e.Operator == v1.NodeSelectorOpIn})
		}
	}
	c.err = aggregate(errs)
	return c
}

func (t *nodeTerm) matches(node *v1.Node) bool {
	if t.err != nil {
		return false
	}
	for i := range t.exprs {
		if !t.exprs[i].matches(node.Labels) {
			return false
		}
	}
	if node.Name == "" { // v1.37.2 does not test the fields of a node without a name
		return true
	}
	for i := range t.fields {
		if !t.fields[i].matches(node) {
			return false
		}
	}
	return true
}

// matches treats every field other than metadata.name as empty: a node's field set has only that entry (rule A3.5).
func (r *fieldRequirement) matches(node *v1.Node) bool {
	value := ""
	if r.key == metadataName {
		value = node.Name
	}
	return (value == r.value) == r.in
}

const metadataName = "metadata.name"

var fieldOperatorNames = []v1.NodeSelectorOperator{v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn}

// aggregate formats a single error as it is and several errors as [a, b]. nil is no error.
func aggregate(errs []error) error { return utilerrors.NewAggregate(errs) }
