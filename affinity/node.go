package affinity

import (
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
)

// errConflict has v1.37.2's text.
var errConflict = errors.New("pod affinity terms conflict")

// NodeOptions configures node affinity. The zero value is v1.37.2's default. [CompileAdded] returns the options of a profile
// that adds node affinity to its pods. NodeOptions may be copied and are safe for concurrent use.
type NodeOptions struct {
	added *added // nil: the profile adds nothing
}

// NodeEvaluator is a pod's compiled node affinity: nodeSelector, required and preferred terms and what its profile adds.
// It is immutable and safe for concurrent use.
type NodeEvaluator interface {
	// Names returns the names of the only nodes that can match, sorted and without duplicates (rule A3.8). pinned is false when
	// any node may match: a required term has no In requirement on metadata.name. The names may include names that no node has.
	// v1.37.2 evaluates the named nodes only and reports the others as "node(s) didn't satisfy plugin(s) [NodeAffinity]". The
	// caller must not modify the slice.
	Names() (names []string, pinned bool)
	// Skip reports whether v1.37.2 does not run the filter for this pod (rule A3.9): the pod has no required affinity, its
	// nodeSelector is nil (not merely empty), and the profile adds no required terms. Check then allows every node.
	Skip() bool
	// SkipScore reports whether v1.37.2 does not score this pod: the pod's preferred list is nil (not merely empty) and the
	// profile adds no preferred terms (rule A4.5). Raw is then 0 on every node.
	//
	// err is the error with which v1.37.2 fails the whole scheduling attempt when it scores this pod (rule A4.3). The pod then
	// has a preferred term with a weight and with requirements that cannot be converted; the API server accepts illegal label
	// values there. v1.37.2 does not score when only one node is feasible.
	SkipScore() (skip bool, err error)
	// On applies the evaluator to the nodes of a cluster, which must not be nil. Node(i) == nil marks a free slot. When the
	// cluster also has Classes(reads []string) (ids, reps []int32, ok bool), On evaluates each class of equal nodes once;
	// otherwise On is O(1) and the state evaluates each node when asked.
	On(nodes interface {
		Len() int
		Node(i int) *v1.Node
	}) NodeState
}

type nodeEvaluator struct {
	required *Selector
	added    *added
	prefs    []preference
	scoreErr error

	names      []string
	pinned     bool
	skips      bool
	scoreSkips bool
}

// CompileNode compiles the pod's node affinity.
//
// The error is "pod affinity terms conflict": the requirements on metadata.name exclude each other, and v1.37.2 rejects the pod before it
// looks at any node. The evaluator then rejects every node. Terms that cannot be converted give no error
// here: required terms never match (rule A3.4), preferred terms fail the scoring (see SkipScore).
//
// Rule: documentation, "Assigning Pods to Nodes" (nodeSelector, Node affinity); API fields spec.nodeSelector and
// spec.affinity.nodeAffinity. O(terms).
func CompileNode(pod *v1.Pod, options NodeOptions) (NodeEvaluator, error) {
	return compileNode(pod, options)
}

func compileNode(pod *v1.Pod, options NodeOptions) (*nodeEvaluator, error) {
	e := &nodeEvaluator{added: options.added}
	if e.added == nil {
		e.added = &nothingAdded
	}
	e.required, _ = CompileRequired(pod) // terms that cannot be converted never match
	var required *v1.NodeSelector
	e.scoreSkips = len(e.added.preferred) == 0
	if a := podinfo.NodeAffinity(pod); a != nil {
		required = a.RequiredDuringSchedulingIgnoredDuringExecution
		e.prefs, e.scoreErr = compilePreferred(a.PreferredDuringSchedulingIgnoredDuringExecution, nil)
		e.scoreSkips = e.scoreSkips && a.PreferredDuringSchedulingIgnoredDuringExecution == nil
	}
	e.skips = required == nil && pod.Spec.NodeSelector == nil && !e.added.required.present
	e.names, e.pinned = pinnedNames(required)
	if e.conflict() {
		return e, errConflict
	}
	return e, nil
}

func (e *nodeEvaluator) conflict() bool { return e.pinned && len(e.names) == 0 }

// pinnedNames returns the union, over the terms, of the names that all metadata.name In requirements of a term allow. A
// term without such a requirement can match any node; then pinned is false.
func pinnedNames(required *v1.NodeSelector) (names []string, pinned bool) {
	if required == nil || len(required.NodeSelectorTerms) == 0 {
		return nil, false
	}
	for i := range required.NodeSelectorTerms {
		var common []string
		found := false
		for _, r := range required.NodeSelectorTerms[i].MatchFields {
			if r.Key != metadataName || r.Operator != v1.NodeSelectorOpIn {
				continue
			}
			if !found {
				common, found = slices.Clone(r.Values), true
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

func (e *nodeEvaluator) Names() (names []string, pinned bool) { return e.names, e.pinned }
func (e *nodeEvaluator) Skip() bool                           { return e.skips }
func (e *nodeEvaluator) SkipScore() (skip bool, err error)    { return e.scoreSkips, e.scoreErr }

// check returns the verdict of the filter on a node.
func (e *nodeEvaluator) check(node *v1.Node) resources.Verdict {
	switch {
	case e.conflict():
		return termsConflict
	case !e.added.required.Matches(node):
		return nodeEnforced
	case !e.required.Matches(node):
		return nodeMismatch
	}
	return 0
}

// raw returns the sum of the weights of the preferred terms, of profile and pod, that match the node (rule A4.1). Terms
// that cannot be converted add nothing.
func (e *nodeEvaluator) raw(node *v1.Node) int64 {
	return sumPreferred(e.added.preferred, node) + sumPreferred(e.prefs, node)
}

// reads returns what check and raw read of a node: "label:KEY" and "name", each once. The caller must not modify the slice.
func (e *nodeEvaluator) reads() []string {
	if len(e.added.required.reads)+len(e.added.preferred)+len(e.prefs) == 0 {
		return e.required.reads
	}
	var r reads
	r.addAll(e.added.required.reads)
	r.addAll(e.required.reads)
	for _, list := range [][]preference{e.added.preferred, e.prefs} {
		for i := range list {
			r.addTerm(&list[i].term)
		}
	}
	return r.names
}
