package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/internal/podinfo"
)

// label is a label that a finding may name.
type label struct{ key, value string }

// otherKey is the fix of a topology key that no node has: the key that is most likely meant, when it was tried and helps. Otherwise it is
// the other fix. at returns the key in the specification of a pod, nil when it is not there.
func (c *checker) otherKey(w *work, wrong, other string, at func(s *v1.PodSpec) *string) string {
	if key := near.Key(wrong, c.keys()); key != "" && c.mends(w, func(s *v1.PodSpec) bool {
		to := at(s)
		if to != nil {
			*to = key
		}
		return to != nil
	}) {
		return fmt.Sprintf("use %s as topologyKey", key)
	}
	return other
}

// otherLabel is the fix of a label that no node has: the label that is most likely meant, when it was tried and helps. Otherwise it is the
// other fix.
func (c *checker) otherLabel(w *work, l *lacking, other string) string {
	if l == nil {
		return other
	}
	to, ok := c.meant(l)
	if !ok || !c.mends(w, func(s *v1.PodSpec) bool { return l.replace(s, to) }) {
		return other
	}
	switch {
	case !l.exact:
		return fmt.Sprintf("use %s in the place of %s", to.key, l.key)
	case c.labels()[l.key] == nil:
		return fmt.Sprintf("use %s=%s in the place of %s", to.key, shown(to.value), l.key)
	}
	return fmt.Sprintf("use %s=%s in the place of %s=%s", to.key, shown(to.value), l.key, shown(l.value))
}

// meant returns the label that is most likely meant by one that no node has.
func (c *checker) meant(l *lacking) (to label, ok bool) {
	to = l.label
	if c.labels()[l.key] == nil {
		if to.key = near.Key(l.key, c.keys()); to.key == "" {
			return to, false
		}
	}
	values := c.labels()[to.key]
	if !l.exact || slices.Contains(values, l.value) {
		return to, true
	}
	to.value, ok = near.Meant(l.value, values)
	return to, ok
}

// lacking is a label that a pod asks for and no node has.
type lacking struct {
	label
	exact bool                                             // a value is asked for, and one alone
	at    func(s *v1.PodSpec) []v1.NodeSelectorRequirement // the requirements that have it; nil: the node selector
	which int                                              // of the requirements
}

// replace writes another label for the one that no node has, and reports whether it could.
func (l *lacking) replace(s *v1.PodSpec, to label) bool {
	if l.at == nil {
		_, has := s.NodeSelector[l.key]
		if _, taken := s.NodeSelector[to.key]; !has || taken && to.key != l.key {
			return false
		}
		delete(s.NodeSelector, l.key)
		s.NodeSelector[to.key] = to.value
		return true
	}
	list := l.at(s)
	if l.which >= len(list) || list[l.which].Key != l.key {
		return false
	}
	list[l.which].Key = to.key
	if l.exact {
		list[l.which].Values = []string{to.value}
	}
	return true
}

// lackingOf returns the first label that a pod asks for and no node has, nil if every such label is on a node.
func (c *checker) lackingOf(p *v1.Pod) *lacking {
	for _, k := range slices.Sorted(maps.Keys(p.Spec.NodeSelector)) {
		if v := p.Spec.NodeSelector[k]; c.missing(k, v, true) {
			return &lacking{label: label{k, v}, exact: true}
		}
	}
	for i := range requiredTerms(p) {
		if l := c.lackingIn(&p.Spec, requiredAt(i)); l != nil {
			return l
		}
	}
	return nil
}

// lackingIn is lackingOf for one list of requirements.
func (c *checker) lackingIn(s *v1.PodSpec, at func(s *v1.PodSpec) []v1.NodeSelectorRequirement) *lacking {
	for k, r := range at(s) {
		l := &lacking{label: label{key: r.Key}, exact: r.Operator == v1.NodeSelectorOpIn && len(r.Values) == 1, at: at, which: k}
		if l.exact {
			l.value = r.Values[0]
		}
		if r.Operator != v1.NodeSelectorOpNotIn && r.Operator != v1.NodeSelectorOpDoesNotExist && c.missing(r.Key, l.value, l.exact) {
			return l
		}
	}
	return nil
}

// missing reports whether no node has a label: a key, and its value when a value is asked for.
func (c *checker) missing(key, value string, exact bool) bool {
	values := c.labels()[key]
	return values == nil || exact && !slices.Contains(values, value)
}

// requiredAt returns the requirements of a term of required node affinity.
func requiredAt(i int) func(s *v1.PodSpec) []v1.NodeSelectorRequirement {
	return func(s *v1.PodSpec) []v1.NodeSelectorRequirement {
		if terms := requiredTerms(&v1.Pod{Spec: *s}); i < len(terms) {
			return terms[i].MatchExpressions
		}
		return nil
	}
}

// preferredAt returns the requirements of a term of preferred node affinity.
func preferredAt(i int) func(s *v1.PodSpec) []v1.NodeSelectorRequirement {
	return func(s *v1.PodSpec) []v1.NodeSelectorRequirement {
		if a := podinfo.NodeAffinity(&v1.Pod{Spec: *s}); a != nil && i < len(a.PreferredDuringSchedulingIgnoredDuringExecution) {
			return a.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference.MatchExpressions
		}
		return nil
	}
}

// nearLabels returns the end of a message about the first label that the pod asks for and no node has: the label that is most likely meant,
// or what nodes have. It is "" if every such label is on a node.
func (c *checker) nearLabels(p *v1.Pod) string {
	l := c.lackingOf(p)
	switch {
	case l == nil:
		return ""
	case c.labels()[l.key] == nil:
		return fmt.Sprintf(": no node has the label %s%s", l.key, c.nearKey(l.key))
	}
	return fmt.Sprintf(": no node has %s=%s%s", l.key, shown(l.value), c.nearValue(l))
}

// nearKey returns the end of a message about a key that no node has: the key that is most likely meant, or the keys that nodes have, those
// that people give first.
func (c *checker) nearKey(key string) string {
	if meant := near.Key(key, c.keys()); meant != "" {
		return ", near: " + meant
	}
	keys := c.keys()
	slices.SortStableFunc(keys, func(a, b string) int {
		return cmp.Compare(strings.Count(a, "kubernetes.io/"), strings.Count(b, "kubernetes.io/"))
	})
	return there(keys)
}

// nearValue is nearKey for a value.
func (c *checker) nearValue(l *lacking) string {
	values := slices.Compact(slices.Sorted(slices.Values(c.labels()[l.key])))
	if meant, ok := near.Meant(l.value, values); ok {
		return ", near: " + shown(meant)
	}
	for i := range values {
		values[i] = shown(values[i])
	}
	return there(values)
}

// there is the end of a message about what nodes have.
func there(names []string) string {
	switch {
	case len(names) == 0:
		return ""
	case len(names) > mostThere:
		return fmt.Sprintf("; nodes have %s and %d more", strings.Join(names[:mostThere], ", "), len(names)-mostThere)
	}
	return "; nodes have " + strings.Join(names, ", ")
}

// mostThere is how many names a message has.
const mostThere = 3

// keys returns the keys of the labels of nodes, sorted.
func (c *checker) keys() []string { return slices.Sorted(maps.Keys(c.labels())) }

// labels returns the values of the labels of nodes, by key.
func (c *checker) labels() map[string][]string {
	if c.have == nil {
		c.have = map[string][]string{}
		for _, n := range c.nodes {
			for k, v := range n.Labels {
				c.have[k] = append(c.have[k], v)
			}
		}
	}
	return c.have
}
