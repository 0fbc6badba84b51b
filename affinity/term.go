package affinity

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/internal/same"
)

// term is a compiled v1.PodAffinityTerm of an owner. It matches a pod when the pod's namespace is in scope and the pod's
// labels satisfy the selector.
type term struct {
	key        string // topologyKey, taken literally
	weight     int64  // 0 for required terms
	selector   labels.Selector
	names      []string        // names of the namespaces in scope, sorted: the listed namespaces; the owner's namespace when the term has neither namespaces nor a namespaceSelector
	own        bool            // they are the owner's
	nsSelector labels.Selector // nil: the term has none
}

func newTerm(owner *v1.Pod, t *v1.PodAffinityTerm) (term, error) {
	selector, err := same.AsSelector(t.LabelSelector)
	if err != nil {
		return term{}, err
	}
	c := term{key: t.TopologyKey, selector: selector}
	if t.NamespaceSelector != nil {
		if c.nsSelector, err = same.AsSelector(t.NamespaceSelector); err != nil {
			return term{}, err
		}
	}
	c.names = slices.Clone(t.Namespaces)
	if len(c.names) == 0 && c.nsSelector == nil {
		c.names, c.own = []string{owner.Namespace}, true
	}
	slices.Sort(c.names)
	c.names = slices.Compact(c.names)
	return c, nil
}

// newTerms compiles a list of terms. The first error empties the whole list, as v1.37.2 does for running pods (rule A7.6).
func newTerms(owner *v1.Pod, list []v1.PodAffinityTerm) ([]term, error) {
	out := make([]term, len(list))
	for i := range list {
		var err error
		if out[i], err = newTerm(owner, &list[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func newWeightedTerms(owner *v1.Pod, list []v1.WeightedPodAffinityTerm) ([]term, error) {
	out := make([]term, len(list))
	for i := range list {
		var err error
		if out[i], err = newTerm(owner, &list[i].PodAffinityTerm); err != nil {
			return nil, err
		}
		out[i].weight = int64(list[i].Weight)
	}
	return out, nil
}

// matchesIn reports whether the term of a running pod matches a pod whose namespace has these labels. The namespaceSelector
// is evaluated on the labels; an unknown namespace has no labels (rule A7.2).
func (t *term) matchesIn(pod *v1.Pod, namespaceLabels func() map[string]string) bool {
	if _, ok := slices.BinarySearch(t.names, pod.Namespace); !ok {
		if t.nsSelector == nil || !t.nsSelector.Matches(labels.Set(namespaceLabels())) {
			return false
		}
	}
	return t.selector.Matches(labels.Set(pod.Labels))
}

// bound is a term of the incoming pod with its namespaceSelector resolved to names.
type bound struct {
	*term
	names []string // sorted
	all   bool     // every namespace, known or unknown
}

// bind resolves the namespaceSelector to names of known namespaces. v1.34 to v1.36.3 evaluate the selector once more for
// each pod, without any labels. A selector with only NotIn and DoesNotExist requirements therefore matches every namespace
// (rule A7.3). names avoids this, as v1.37 does (selectsNames).
func (t *term) bind(namespaces iter.Seq2[string, map[string]string], names bool) bound {
	b := bound{term: t, names: t.names}
	if t.nsSelector == nil {
		return b
	}
	if t.nsSelector.Empty() || !names && t.nsSelector.Matches(labels.Set(nil)) {
		b.all = true
		return b
	}
	b.names = slices.Clone(t.names)
	for name, set := range namespaces {
		if t.nsSelector.Matches(labels.Set(set)) {
			b.names = append(b.names, name)
		}
	}
	slices.Sort(b.names)
	b.names = slices.Compact(b.names)
	return b
}

func (b *bound) matches(pod *v1.Pod) bool {
	if !b.all {
		if _, ok := slices.BinarySearch(b.names, pod.Namespace); !ok {
			return false
		}
	}
	return b.selector.Matches(labels.Set(pod.Labels))
}

func bindAll(list []term, namespaces iter.Seq2[string, map[string]string], names bool) []bound {
	out := make([]bound, len(list))
	for i := range list {
		out[i] = list[i].bind(namespaces, names)
	}
	return out
}

func allMatch(list []bound, pod *v1.Pod) bool {
	for i := range list {
		if !list[i].matches(pod) {
			return false
		}
	}
	return len(list) > 0
}
