package spread

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/internal/apiserver"
	"github.com/podberth/podberth/internal/podinfo"
)

// Kinds of findings; see [Finding].
const (
	foundMixedConstraints    = "MixedConstraints"
	foundMixedNamespaces     = "MixedNamespaces"
	foundUnknownAction       = "UnknownAction"
	foundInvalidSelector     = "InvalidSelector"
	foundNoSelector          = "NoSelector"
	foundSelectorMissesPod   = "SelectorMissesPod"
	foundSelectorMissesGroup = "SelectorMissesGroup"
	foundAbsentMatchLabelKey = "AbsentMatchLabelKey"
	foundNodesWithoutKey     = "NodesWithoutKey"
	foundTooFewDomains       = "TooFewDomains"
)

// Finding is one likely mistake in the constraints of a group of pods. Kind is one of
//
//	MixedConstraints     pods of the group have different constraints; the documentation asks for equal ones
//	MixedNamespaces      pods of the group are in different namespaces; only pods of a pod's own namespace count
//	UnknownAction        whenUnsatisfiable is absent or unknown; the scheduler ignores the constraint
//	InvalidSelector      the selector cannot be converted; every attempt to schedule the pod fails
//	NoSelector           the selector is absent or empty and counts no pod; the constraint does nothing. matchLabelKeys does not help:
//	                     the documentation's example with matchLabelKeys alone counts no pod, and the API server refuses it
//	SelectorMissesPod    the selector does not match the pod itself; placing the pod leaves the skew as it is
//	SelectorMissesGroup  the selector matches the pod itself but not another pod of the group
//	AbsentMatchLabelKey  a key of matchLabelKeys is not on the pod and is ignored
//	NodesWithoutKey      nodes lack the topology key; DoNotSchedule never places the pod there
//	TooFewDomains        there are fewer domains than minDomains; no domain takes more than maxSkew pods
type Finding struct {
	Kind       string   // one of the kinds above
	Constraint int      // index in the pods' list; -1 for a finding about no single constraint
	Pods       []string // "namespace/name", in the order of the group
	Nodes      []string // by slot; nil for a finding that is not about nodes
	Message    string
}

// CheckGroup looks for mistakes in the constraints of pods that belong together, such as the replicas of a Deployment:
// mixed constraints, selectors that do not match the pods, keys that nodes lack, domains that are too few. With a nil c
// CheckGroup does not check nodes. A finding about a constraint names every pod that has it at that index.
// Findings are in the order of the indexes. The API server refuses pods with UnknownAction, InvalidSelector or matchLabelKeys
// without a selector, and accepts all others. O(pods² x constraints + nodes x constraints).
// A nil pod in the list panics.
func CheckGroup(pods []*v1.Pod, c Cluster) []Finding {
	if len(pods) == 0 {
		return nil
	}
	var out []Finding
	report := func(kind string, constraint int, about []*v1.Pod, format string, args ...any) {
		if len(about) > 0 {
			out = append(out, Finding{Kind: kind, Constraint: constraint, Pods: podNames(about), Message: fmt.Sprintf(format, args...)})
		}
	}
	first := pods[0]
	report(foundMixedConstraints, -1, having(pods, func(p *v1.Pod) bool {
		return !equalConstraints(p.Spec.TopologySpreadConstraints, first.Spec.TopologySpreadConstraints)
	}), "constraints differ from those of %s", podinfo.Name(first))
	report(foundMixedNamespaces, -1, having(pods, func(p *v1.Pod) bool { return p.Namespace != first.Namespace }),
		"only pods of namespace %s count for %s", first.Namespace, podinfo.Name(first))
	longest := 0
	for _, p := range pods {
		longest = max(longest, len(p.Spec.TopologySpreadConstraints))
	}
	for i := range longest {
		checkSelectors(having(pods, func(p *v1.Pod) bool { return i < len(p.Spec.TopologySpreadConstraints) }), pods, i, report)
	}
	if c != nil {
		out = append(out, checkNodes(first, c)...)
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return a.Constraint - b.Constraint })
	return out
}

func having(pods []*v1.Pod, f func(*v1.Pod) bool) []*v1.Pod {
	var out []*v1.Pod
	for _, p := range pods {
		if f(p) {
			out = append(out, p)
		}
	}
	return out
}

func podNames(pods []*v1.Pod) []string {
	out := make([]string, len(pods))
	for i, p := range pods {
		out[i] = podinfo.Name(p)
	}
	return out
}

// checkSelectors checks constraint i of the pods of the group that have one.
func checkSelectors(pods, group []*v1.Pod, i int, report func(string, int, []*v1.Pod, string, ...any)) {
	constraintOf := func(p *v1.Pod) *v1.TopologySpreadConstraint { return &p.Spec.TopologySpreadConstraints[i] }
	selectorOf := func(p *v1.Pod) labels.Selector {
		s, err := selector(constraintOf(p), p)
		if err != nil {
			return nil
		}
		return s
	}
	for _, action := range unknownActions(pods, constraintOf) {
		report(foundUnknownAction, i, having(pods, func(p *v1.Pod) bool { return constraintOf(p).WhenUnsatisfiable == action }),
			"whenUnsatisfiable is %q, neither DoNotSchedule nor ScheduleAnyway: the scheduler ignores the constraint, the API server refuses the pod", action)
	}
	report(foundInvalidSelector, i, having(pods, func(p *v1.Pod) bool { return selectorOf(p) == nil }), "labelSelector cannot be converted")
	pods = having(pods, func(p *v1.Pod) bool { return selectorOf(p) != nil })
	idle := func(p *v1.Pod) bool { return constraintOf(p).LabelSelector == nil || selectorOf(p).Empty() }
	keysOnly := func(p *v1.Pod) bool { return idle(p) && len(constraintOf(p).MatchLabelKeys) > 0 }
	report(foundNoSelector, i, having(pods, keysOnly),
		"matchLabelKeys adds nothing to an absent labelSelector: no pod is counted, and the API server refuses the pod")
	report(foundNoSelector, i, having(pods, func(p *v1.Pod) bool { return idle(p) && !keysOnly(p) }), "labelSelector is absent or empty: no pod is counted")
	pods = having(pods, func(p *v1.Pod) bool { return !idle(p) })
	matchesSelf := func(p *v1.Pod) bool { return selectorOf(p).Matches(labels.Set(p.Labels)) }
	report(foundSelectorMissesPod, i, having(pods, func(p *v1.Pod) bool { return !matchesSelf(p) }),
		"labelSelector does not match the pod's own labels: placing it does not change the skew")
	report(foundSelectorMissesGroup, i, having(pods, func(p *v1.Pod) bool {
		s := selectorOf(p)
		return matchesSelf(p) && slices.ContainsFunc(group, func(q *v1.Pod) bool { return !s.Matches(labels.Set(q.Labels)) })
	}), "labelSelector matches the pod itself and not all pods of the group")
	for _, key := range matchLabelKeysOf(pods, constraintOf) {
		report(foundAbsentMatchLabelKey, i, having(pods, func(p *v1.Pod) bool {
			_, ok := p.Labels[key]
			return !ok && slices.Contains(constraintOf(p).MatchLabelKeys, key)
		}), "matchLabelKeys names %s, which the pod does not have: it is ignored", key)
	}
}

func unknownActions(pods []*v1.Pod, constraintOf func(*v1.Pod) *v1.TopologySpreadConstraint) []v1.UnsatisfiableConstraintAction {
	var out []v1.UnsatisfiableConstraintAction
	for _, p := range pods {
		if a := constraintOf(p).WhenUnsatisfiable; !apiserver.KnownAction(a) && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

func matchLabelKeysOf(pods []*v1.Pod, constraintOf func(*v1.Pod) *v1.TopologySpreadConstraint) []string {
	var out []string
	for _, p := range pods {
		for _, key := range constraintOf(p).MatchLabelKeys {
			if !slices.Contains(out, key) {
				out = append(out, key)
			}
		}
	}
	return out
}

// checkNodes checks the nodes of a cluster for the constraints of one pod.
func checkNodes(pod *v1.Pod, c Cluster) (out []Finding) {
	for i := range pod.Spec.TopologySpreadConstraints {
		key := pod.Spec.TopologySpreadConstraints[i].TopologyKey
		var nodes []string
		for n := range c.Len() {
			if node := c.Node(n); node != nil {
				if _, ok := node.Labels[key]; !ok {
					nodes = append(nodes, node.Name)
				}
			}
		}
		if len(nodes) > 0 {
			out = append(out, Finding{Kind: foundNodesWithoutKey, Constraint: i, Pods: []string{podinfo.Name(pod)}, Nodes: nodes,
				Message: fmt.Sprintf("nodes without label %s: %s", key, strings.Join(nodes, ", "))})
		}
	}
	h, err := CompileHard(pod, Options{})
	if err != nil {
		return out // CheckGroup has reported it as foundInvalidSelector
	}
	for _, r := range h.Count(c).Report() {
		if r.TooFew {
			out = append(out, Finding{Kind: foundTooFewDomains, Constraint: r.Constraint, Pods: []string{podinfo.Name(pod)},
				Message: fmt.Sprintf("%d domains of %s, fewer than minDomains %d: no domain takes more than %d matching pods", len(r.Domains), r.Key, r.MinDomains, r.MaxSkew)})
		}
	}
	return out
}
