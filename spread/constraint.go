package spread

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/apiserver"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/taints"
)

// Options are the arguments of the profile, and facts that a cluster does not have. The zero value is v1.37's default
// profile, with the built-in default constraints, in a cluster without services and controllers. v1.37 derives the selector
// of default constraints from services and controllers: a pod without any gets no default constraints. Set [Owners] in a
// cluster that has such objects.
type Options struct {
	// Defaults are the profile's PodTopologySpreadArgs. The zero value is the built-in System defaults.
	Defaults Defaults
	// Owners finds the services and controllers from which the selector of default constraints is derived. With nil, Check
	// and Scores use the cluster when it has the methods of Owners. Otherwise nil means that there are no such objects, and
	// no pod gets default constraints.
	Owners Owners
	// PlannedNodes are nodes that do not exist yet but may be created: one template for each node pool that is scaled to
	// zero, with the labels and taints of its nodes. The filter counts their domains like those of existing nodes, with no
	// pods. v1.37 counts only domains of existing nodes, and so does nil. Nil nodes in the list are ignored.
	PlannedNodes []*v1.Node
	// Strict refuses a pod that has a constraint whose whenUnsatisfiable is absent or unknown. The error has the pod, the
	// field path, the value and the allowed values. Without Strict both compilers ignore such a constraint, as v1.37's
	// scheduler does.
	Strict bool
	// Matching is how tolerations match taints. Constraints whose nodeTaintsPolicy is Honor use it. When it is zero,
	// placement.PluginArgs uses its Taints instead.
	Matching taints.Options
	// Release is the release whose queueing hint counts (rule L7.10).
	Release release.Version
}

// askCluster takes the owners from the cluster when Options has none and the cluster has the methods of Owners.
func (o *Options) askCluster(c Cluster) {
	if o.Owners == nil {
		o.Owners, _ = c.(Owners)
	}
}

// constraint is one effective constraint of an action, in the pod's order.
type constraint struct {
	index      int // index in the pod's list or in the default constraints
	key        string
	maxSkew    int32
	minDomains int32
	selector   uint8 // bit of the selector in selectors
	honours    uint8 // exclusion bits that apply to this constraint
}

// evaluator is the common part of Hard and Soft: the effective constraints of one action in the pod's order, their
// selectors and their node inclusion policies. An evaluator keeps its pod, which must not change afterwards.
type evaluator struct {
	constraints []constraint
	selectors   selectors
	inclusion   inclusion
	self        uint32 // selectors that match the pod's own labels
	defaulted   bool   // the constraints are the profile's
	pod         *v1.Pod
	planned     []*v1.Node
}

// compile takes the constraints with the action from the pod, or from the profile's defaults when the pod has no constraint
// of any action (rules S1.1 and S1.2).
func compile(pod *v1.Pod, action v1.UnsatisfiableConstraintAction, o *Options) (evaluator, error) {
	e := evaluator{pod: pod, planned: o.PlannedNodes}
	e.selectors.namespace = pod.Namespace
	list := pod.Spec.TopologySpreadConstraints
	var derived labels.Selector
	if len(list) == 0 {
		if list = o.Defaults.constraints(action); len(list) == 0 {
			return e, nil
		}
		if derived = OwnerSelector(pod, o.Owners); derived == nil {
			return e, nil
		}
		e.defaulted = true
	}
	for i := range list {
		c := &list[i]
		if o.Strict && !apiserver.KnownAction(c.WhenUnsatisfiable) {
			path := field.NewPath("spec", "topologySpreadConstraints").Index(i).Child("whenUnsatisfiable")
			return evaluator{}, fmt.Errorf("pod %s: %w", podinfo.Name(pod), field.NotSupported(path, c.WhenUnsatisfiable, apiserver.SpreadActions()))
		}
		if c.WhenUnsatisfiable != action {
			continue
		}
		s := derived
		if s == nil {
			var err error
			if s, err = selector(c, pod); err != nil {
				return evaluator{}, err
			}
		}
		bit, err := e.selectors.add(s)
		if err != nil {
			return evaluator{}, err
		}
		e.constraints = append(e.constraints, newConstraint(c, i, bit))
	}
	e.self = e.selectors.matches(pod.Labels)
	e.inclusion = compileInclusion(pod, e.constraints, o.Matching)
	return e, nil
}

func newConstraint(c *v1.TopologySpreadConstraint, index int, bit uint8) constraint {
	out := constraint{index: index, key: c.TopologyKey, maxSkew: c.MaxSkew, minDomains: podinfo.MinDomains(c), selector: bit}
	if c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor {
		out.honours |= excludedByAffinity
	}
	if c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor {
		out.honours |= excludedByTaints
	}
	return out
}

// hasKeys reports whether the labels have every constraint's topology key.
func (e *evaluator) hasKeys(set map[string]string) bool {
	for k := range e.constraints {
		if _, ok := set[e.constraints[k].key]; !ok {
			return false
		}
	}
	return true
}

// selfOf returns 1 when the pod's labels match the selector of constraint k, otherwise 0.
func (e *evaluator) selfOf(k int) int32 { return int32(e.self >> e.constraints[k].selector & 1) }

// effect has one bit for each selector of an evaluator that counts a pod; it is 0 when no selector does. An effect depends
// on the pod's namespace, its labels and whether it is being deleted. A caller asks once for a set of pods that are equal
// in these. An effect belongs to the evaluator that made it.
type effect uint32

func (e *evaluator) Skip() bool { return len(e.constraints) == 0 }

func (e *evaluator) Defaulted() bool { return e.defaulted }

func (e *evaluator) Counts(pod *v1.Pod) bool { return e.effect(pod) != 0 }

// effect returns the effect of one such pod on the counts. It is 0 for a pod of another namespace, a pod that is being
// deleted, and a pod that no selector counts.
func (e *evaluator) effect(pod *v1.Pod) effect { return effect(e.selectors.effect(pod)) }

// Keys appends the topology keys in the order of the constraints, each once.
func (e *evaluator) Keys(dst []string) []string {
	for k := range e.constraints {
		if e.firstWithKey(k) == k {
			dst = append(dst, e.constraints[k].key)
		}
	}
	return dst
}

func (e *evaluator) firstWithKey(k int) int {
	for j := range k {
		if e.constraints[j].key == e.constraints[k].key {
			return j
		}
	}
	return k
}

// Reads appends what the evaluator reads of a node: "label:KEY" of each topology key, and what the inclusion policies need
// ("label:KEY", "name", "taints").
func (e *evaluator) Reads(dst []string) []string {
	for k := range e.constraints {
		if e.firstWithKey(k) == k {
			dst = append(dst, "label:"+e.constraints[k].key)
		}
	}
	return e.inclusion.reads(dst)
}

// AppendKey appends bytes that are equal for two evaluators of one action exactly when namespace, constraints, merged
// selectors and self-match are equal. When the keys, nodeSelector, node affinity, tolerations and Options of two pods are
// equal, their evaluators and states give equal answers.
func (e *evaluator) AppendKey(dst []byte) []byte {
	return e.appendShape(key.Texts(key.Text(dst, e.selectors.namespace), e.selectors.texts))
}

// AppendIdleKey appends bytes that are equal for two evaluators of one action when their constraints and self-match are equal, whatever they select. It
// reports whether no selector counts a running pod: then the counts are equal too. O(constraints + matching pods).
func (e *evaluator) AppendIdleKey(dst []byte, c Cluster) (_ []byte, idle bool) {
	return e.appendShape(dst), e.selectors.idle(c)
}

// appendShape appends the constraints without what they select.
func (e *evaluator) appendShape(dst []byte) []byte {
	dst = key.Flag(key.Int(dst, int64(e.self)), e.defaulted)
	dst = key.Len(dst, len(e.constraints))
	for k := range e.constraints {
		c := &e.constraints[k]
		dst = key.Int(key.Int(key.Text(dst, c.key), int64(c.maxSkew)), int64(c.minDomains))
		dst = key.Int(key.Int(dst, int64(c.selector)), int64(c.honours))
	}
	return dst
}
