package spread

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/taints"
)

// Bits of an exclusion: the rule of the pod that keeps a node out of the constraints with the policy Honor.
const (
	excludedByAffinity uint8 = 1 << iota
	excludedByTaints
)

// inclusion has what nodeAffinityPolicy and nodeTaintsPolicy read (rule S2.2): the pod's nodeSelector and required node
// affinity, and its tolerations. A profile's addedAffinity and spec.unschedulable do not matter.
type inclusion struct {
	required   *affinity.Selector
	tolerances *taints.Evaluator // nil: no constraint honours taints
	asks       uint8             // bits that some constraint honours and that can exclude a node
}

func compileInclusion(pod *v1.Pod, constraints []constraint, o taints.Options) inclusion {
	var in inclusion
	var honours uint8
	for k := range constraints {
		honours |= constraints[k].honours
	}
	if honours&excludedByAffinity != 0 && limitsNodes(pod) {
		// A term that cannot be converted matches nothing, here and in the filter. The filter reports the error.
		in.required, _ = affinity.CompileRequired(pod)
		in.asks |= excludedByAffinity
	}
	if honours&excludedByTaints != 0 {
		in.tolerances = taints.Compile(pod.Spec.Tolerations, o)
		in.asks |= excludedByTaints
	}
	return in
}

// limitsNodes reports whether the pod's nodeSelector or required node affinity can exclude a node.
func limitsNodes(pod *v1.Pod) bool {
	a := pod.Spec.Affinity
	return len(pod.Spec.NodeSelector) > 0 ||
		a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}

// exclusion returns the rules that exclude the node, as bits.
func (in *inclusion) exclusion(node *v1.Node) uint8 {
	var out uint8
	if in.asks&excludedByAffinity != 0 && !in.required.Matches(node) {
		out |= excludedByAffinity
	}
	if in.asks&excludedByTaints != 0 && !in.tolerances.Tolerates(node) {
		out |= excludedByTaints
	}
	return out
}

// reads appends what exclusion reads of a node.
func (in *inclusion) reads(dst []string) []string {
	if in.asks&excludedByAffinity != 0 {
		dst = in.required.Reads(dst)
	}
	if in.asks&excludedByTaints != 0 {
		dst = append(dst, "taints")
	}
	return dst
}

// exclusions returns the bits of every slot, nil when no node is excluded. It evaluates each class of equal nodes once when
// the cluster has classes, otherwise each node.
func (in *inclusion) exclusions(c Cluster) []uint8 {
	if in.asks == 0 {
		return nil
	}
	classes := view.Classify(c, in.reads(nil), in.exclusion)
	if classes.Offered() && !slices.ContainsFunc(classes.Answers(), func(b uint8) bool { return b != 0 }) {
		return nil
	}
	var bits []uint8
	for i := range c.Len() {
		var b uint8
		if class := classes.At(i); class != nil {
			b = *class
		} else if node := c.Node(i); node != nil {
			b = in.exclusion(node)
		}
		if b != 0 {
			if bits == nil {
				bits = make([]uint8, c.Len())
			}
			bits[i] = b
		}
	}
	return bits
}
