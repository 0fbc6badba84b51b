package spread

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Options is what the scheduler's profile and the caller add to a pod. The zero value is v1.36's default profile without
// a view of services and controllers, and therefore without default constraints.
type Options struct {
	// Defaults are the profile's PodTopologySpreadArgs. The zero value is the built-in System defaults.
	Defaults Defaults
	// Owners finds the services and controllers that default constraints derive their selector from. nil: there are none,
	// so that no pod gets default constraints.
	Owners Owners
	// PlannedNodes are nodes that do not exist yet but can: one template for each pool that is scaled to zero, with the
	// labels and taints its nodes will have. The filter counts their domains, with no pods, as those of existing nodes.
	// v1.36 knows the domains of existing nodes only; the default is none. Templates are read, never kept as slots.
	PlannedNodes []*v1.Node
}

// constraint is one effective constraint of an action, in the pod's order.
type constraint struct {
	index      int // place in the pod's list, or in the default constraints
	key        string
	maxSkew    int32
	minDomains int32
	selector   uint8 // bit number in selectors
	honours    uint8 // exclusion bits that apply
}

// Evaluator is what Hard and Soft share: the effective constraints of one action in the pod's order, their selectors and
// their node inclusion policies. It is immutable and safe for concurrent use. It keeps the pod it was compiled from, which
// must not change afterwards. The zero value has no constraints.
type Evaluator struct {
	constraints []constraint
	selectors   selectors
	inclusion   inclusion
	self        uint32 // selectors that match the pod's own labels
	defaulted   bool   // the constraints come from the profile
	pod         *v1.Pod
	planned     []*v1.Node
}

// compile picks the constraints with the action from the pod, or from the profile's defaults when the pod has none at all.
func compile(pod *v1.Pod, action v1.UnsatisfiableConstraintAction, o *Options) (Evaluator, error) {
	e := Evaluator{pod: pod, planned: o.PlannedNodes}
	e.selectors.namespace = pod.Namespace
	list := pod.Spec.TopologySpreadConstraints
	var derived labels.Selector
	if len(list) == 0 {
		if list = o.Defaults.constraints(action); len(list) == 0 {
			return e, nil
		}
		if derived = derivedSelector(pod, o.Owners); derived == nil {
			return e, nil
		}
		e.defaulted = true
	}
	for i := range list {
		c := &list[i]
		if c.WhenUnsatisfiable != action {
			continue
		}
		s := derived
		if s == nil {
			var err error
			if s, err = selector(c, pod); err != nil {
				return Evaluator{}, err
			}
		}
		bit, err := e.selectors.add(s)
		if err != nil {
			return Evaluator{}, err
		}
		e.constraints = append(e.constraints, newConstraint(c, i, bit))
	}
	e.self = e.selectors.matches(pod.Labels)
	e.inclusion = compileInclusion(pod, e.constraints)
	return e, nil
}

func newConstraint(c *v1.TopologySpreadConstraint, index int, bit uint8) constraint {
	out := constraint{index: index, key: c.TopologyKey, maxSkew: c.MaxSkew, minDomains: 1, selector: bit}
	if c.MinDomains != nil {
		out.minDomains = *c.MinDomains
	}
	if c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor {
		out.honours |= excludedByAffinity
	}
	if c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor {
		out.honours |= excludedByTaints
	}
	return out
}

// hasKeys reports whether the labels have every constraint's topology key.
func (e *Evaluator) hasKeys(set map[string]string) bool {
	for k := range e.constraints {
		if _, ok := set[e.constraints[k].key]; !ok {
			return false
		}
	}
	return true
}

// selfOf returns 1 if the pod's labels match the selector of constraint k.
func (e *Evaluator) selfOf(k int) int32 { return int32(e.self >> e.constraints[k].selector & 1) }

// Effect says which selectors of an evaluator count a pod, one bit each; 0 when the pod does not matter to it. It depends
// on the pod's namespace, labels and on whether it is being deleted, so that a caller works it out once for a set of
// equal pods. An Effect belongs to the evaluator that made it.
type Effect uint32

// Empty reports whether there is no constraint: the evaluator allows every node and scores none.
func (e *Evaluator) Empty() bool { return len(e.constraints) == 0 }

// Len returns the number of effective constraints.
func (e *Evaluator) Len() int { return len(e.constraints) }

// Defaulted reports whether the constraints come from the profile and not from the pod.
func (e *Evaluator) Defaulted() bool { return e.defaulted }

// SelfMask returns the selectors that match labels, one bit each. Pods that are equal in namespace, spec, SelfMask and
// the values of matchLabelKeys have the same evaluator, unless it is Defaulted. O(selectors), no allocation.
func (e *Evaluator) SelfMask(labels map[string]string) uint32 { return e.selectors.matches(labels) }

// Effect returns what one such pod does to the counts: 0 for another namespace, a pod that is being deleted, and a pod that
// no selector counts.
func (e *Evaluator) Effect(pod *v1.Pod) Effect { return Effect(e.selectors.effect(pod)) }

// Dynamic reports whether events on other nodes can change the verdict or raw score of a node. It is false when nothing is
// counted: no constraints, or only constraints whose selector is absent or empty.
func (e *Evaluator) Dynamic() bool { return e.selectors.counting != 0 }

// Keys appends the topology keys in the order of the constraints, each once.
func (e *Evaluator) Keys(dst []string) []string {
	for k := range e.constraints {
		if e.firstWithKey(k) == k {
			dst = append(dst, e.constraints[k].key)
		}
	}
	return dst
}

func (e *Evaluator) firstWithKey(k int) int {
	for j := range k {
		if e.constraints[j].key == e.constraints[k].key {
			return j
		}
	}
	return k
}

// Reads appends what the evaluator looks at on a node: "label:KEY" of each topology key, and what the inclusion policies
// need ("label:KEY", "name", "taints").
func (e *Evaluator) Reads(dst []string) []string {
	for k := range e.constraints {
		if e.firstWithKey(k) == k {
			dst = append(dst, "label:"+e.constraints[k].key)
		}
	}
	return e.inclusion.reads(dst)
}

// AppendKey appends bytes that are equal for two evaluators of one action exactly if namespace, constraints, merged
// selectors and self-match are equal. Two pods with equal keys, nodeSelector, node affinity, tolerations and Options have
// evaluators, and therefore states, that can stand for each other.
func (e *Evaluator) AppendKey(dst []byte) []byte {
	dst = strconv.AppendQuote(dst, e.selectors.namespace)
	for _, text := range e.selectors.texts {
		dst = strconv.AppendQuote(dst, text)
	}
	dst = strconv.AppendUint(append(dst, '='), uint64(e.self), 16)
	dst = strconv.AppendBool(append(dst, ' '), e.defaulted)
	for k := range e.constraints {
		c := &e.constraints[k]
		dst = strconv.AppendQuote(append(dst, ' '), c.key)
		for _, n := range [...]int32{c.maxSkew, c.minDomains, int32(c.selector), int32(c.honours)} {
			dst = strconv.AppendInt(append(dst, '/'), int64(n), 10)
		}
	}
	return dst
}
