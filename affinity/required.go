package affinity

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/podinfo"
)

// Required is a pod's compiled spec.nodeSelector and required node affinity, without what a profile adds: the rule by
// which the kubelet admits, the DaemonSet controller places and topology spread includes a node. It is immutable and
// safe for concurrent use; the zero value allows every node.
type Required struct {
	pairs    []pair // spec.nodeSelector, sorted by key
	affinity Selector
}

type pair struct{ key, value string }

// CompileRequired compiles the pod's nodeSelector and required node affinity. The error is that of CompileSelector: it
// tells of terms that can never match, which v1.36.3 ignores in the filter; the value is valid whatever the error.
func CompileRequired(pod *v1.Pod) (*Required, error) {
	r := &Required{}
	for k, v := range pod.Spec.NodeSelector {
		r.pairs = append(r.pairs, pair{k, v})
	}
	slices.SortFunc(r.pairs, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	if a := podinfo.NodeAffinity(pod); a != nil {
		path := field.NewPath("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
		r.affinity = *compileSelector(a.RequiredDuringSchedulingIgnoredDuringExecution, path)
	}
	return r, r.affinity.err
}

// MatchNode reports whether the pod's nodeSelector and required node affinity allow the node. It is the one-call form of
// CompileRequired and Matches; compile once to ask about many nodes.
func MatchNode(pod *v1.Pod, node *v1.Node) bool {
	r, _ := CompileRequired(pod) // the filter ignores terms that cannot be converted: they match nothing
	return r.Matches(node)
}

// Matches reports whether the node has every pair of the nodeSelector and satisfies the required node affinity. It looks
// at the node's labels and name only and allocates nothing. A nil Required matches.
func (r *Required) Matches(node *v1.Node) bool {
	return r == nil || r.selects(node) && r.affinity.Matches(node)
}

func (r *Required) selects(node *v1.Node) bool {
	for i := range r.pairs {
		if v, ok := node.Labels[r.pairs[i].key]; !ok || v != r.pairs[i].value {
			return false
		}
	}
	return true
}

// Reads appends what Matches reads of a node: "label:KEY" for each key, "name" when there are matchFields. A name that dst
// has is not appended again. Nodes that are equal in all of it get the same answer. Reads appends nothing when every node
// matches.
func (r *Required) Reads(dst []string) []string {
	if r == nil || len(r.pairs)+len(r.affinity.reads) == 0 {
		return dst
	}
	if len(r.pairs) == 0 && len(dst) == 0 {
		return append(dst, r.affinity.reads...)
	}
	names := reads{names: dst}
	for i := range r.pairs {
		names.add("label:" + r.pairs[i].key)
	}
	names.addAll(r.affinity.reads)
	return names.names
}
