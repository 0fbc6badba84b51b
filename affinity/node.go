package affinity

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// NodeOptions configures node affinity; the zero value is v1.36.3's default.
type NodeOptions struct {
	// Added is what the pod's profile adds; nil adds nothing.
	Added *Added
}

// NodeEvaluator is a pod's compiled node affinity: nodeSelector, required and preferred terms and what its profile adds.
// It is immutable and safe for concurrent use.
type NodeEvaluator struct {
	required *Required
	added    *Added
	prefs    []preference
	scoreErr error

	names      []string
	pinned     bool
	skips      bool
	scoreSkips bool
}

// CompileNode compiles the pod's node affinity.
//
// The error is a *Rejection when v1.36.3 rejects the pod before it looks at any node: its requirements on metadata.name
// exclude each other ("pod affinity terms conflict"). The evaluator then rejects every node with TermsConflict. Terms
// that cannot be converted are no error here: required ones never match, preferred ones fail the scoring (ScoreErr).
//
// Rule: documentation, "Assigning Pods to Nodes" (nodeSelector, Node affinity); API fields spec.nodeSelector and
// spec.affinity.nodeAffinity. O(terms).
func CompileNode(pod *v1.Pod, options NodeOptions) (*NodeEvaluator, error) {
	e := &NodeEvaluator{added: options.Added}
	if e.added == nil {
		e.added = &Added{}
	}
	e.required, _ = CompileRequired(pod) // kept for RequiredErr
	var required *v1.NodeSelector
	e.scoreSkips = len(e.added.preferred) == 0
	if a := nodeAffinity(pod); a != nil {
		required = a.RequiredDuringSchedulingIgnoredDuringExecution
		e.prefs, e.scoreErr = compilePreferred(a.PreferredDuringSchedulingIgnoredDuringExecution, nil)
		e.scoreSkips = e.scoreSkips && a.PreferredDuringSchedulingIgnoredDuringExecution == nil
	}
	e.skips = required == nil && pod.Spec.NodeSelector == nil && !e.added.required.present
	e.names, e.pinned = pinnedNames(required)
	if e.conflict() {
		return e, &Rejection{Verdict: TermsConflict}
	}
	return e, nil
}

func (e *NodeEvaluator) conflict() bool { return e.pinned && len(e.names) == 0 }

// pinnedNames unites, over the terms, the names that the term's metadata.name In requirements have in common. A term
// without such a requirement can match any node: nothing is pinned then.
func pinnedNames(required *v1.NodeSelector) (names []string, pinned bool) {
	if required == nil || len(required.NodeSelectorTerms) == 0 {
		return nil, false
	}
	names = []string{}
	for i := range required.NodeSelectorTerms {
		var common []string
		found := false
		for _, r := range required.NodeSelectorTerms[i].MatchFields {
			if r.Key != metadataName || r.Operator != v1.NodeSelectorOpIn {
				continue
			}
			if !found {
				common, found = slices.Clone(r.Values), true
				continue
			}
			common = slices.DeleteFunc(common, func(s string) bool { return !slices.Contains(r.Values, s) })
		}
		if !found {
			return nil, false
		}
		names = append(names, common...)
	}
	slices.Sort(names)
	return slices.Compact(names), true
}

// Names returns the names of the only nodes that need to be looked at, sorted and without duplicates, when every required
// term pins the pod by metadata.name In; pinned is false when any node may match. Names that no node has are to be left
// out. v1.36.3 evaluates the named nodes only and reports the others as NotNamed; none of those could match. The caller
// must not modify the slice.
func (e *NodeEvaluator) Names() (names []string, pinned bool) { return e.names, e.pinned }

// Skips reports whether v1.36.3 does not run the filter for this pod: it has neither required affinity nor a nodeSelector
// (an empty one that is not nil is run) and the profile adds no required terms. Check allows every node then.
func (e *NodeEvaluator) Skips() bool { return e.skips }

// ScoreSkips reports whether v1.36.3 does not score this pod: its preferred list is nil (an empty one is scored) and the
// profile adds no preferred terms. Raw is 0 on every node then.
func (e *NodeEvaluator) ScoreSkips() bool { return e.scoreSkips }

// RequiredErr tells which required terms of the pod cannot be converted and so never match; v1.36.3 ignores this in the
// filter. nil when there are none.
func (e *NodeEvaluator) RequiredErr() error { return e.required.affinity.err }

// ScoreErr returns what v1.36.3 fails the whole scheduling attempt with when it scores this pod: a preferred term with a
// weight and requirements that cannot be converted, although the API server accepts illegal label values there. It is not
// reached when only one node is feasible. nil when there is none.
func (e *NodeEvaluator) ScoreErr() error { return e.scoreErr }

// Check returns the filter's verdict on a node: 0, NodeEnforced, NodeMismatch or, when CompileNode returned a Rejection,
// TermsConflict. It allocates nothing.
func (e *NodeEvaluator) Check(node *v1.Node) resources.Verdict {
	switch {
	case e.conflict():
		return TermsConflict
	case !e.added.required.Matches(node):
		return NodeEnforced
	case !e.required.Matches(node):
		return NodeMismatch
	}
	return 0
}

// Raw returns the sum of the weights of the preferred terms, the profile's and the pod's, that match the node. It
// allocates nothing. With ScoreErr set, terms that cannot be converted count nothing.
func (e *NodeEvaluator) Raw(node *v1.Node) int64 {
	return sumPreferred(e.added.preferred, node) + sumPreferred(e.prefs, node)
}

// Reads appends what Check and Raw look at on a node: "label:KEY" and "name". Nodes that are equal in all of it get the
// same verdict and raw score. The order is fixed by the pod and the profile and nothing is named twice, provided dst does
// not name it already.
func (e *NodeEvaluator) Reads(dst []string) []string {
	for _, r := range e.added.required.reads {
		dst = appendNew(dst, r)
	}
	dst = e.required.Reads(dst)
	for _, list := range [][]preference{e.added.preferred, e.prefs} {
		for i := range list {
			dst = appendReads(dst, &list[i].term)
		}
	}
	return dst
}
