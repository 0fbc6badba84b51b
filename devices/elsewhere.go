package devices

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
)

// Elsewhere is Kept for a pod of which every allocation names the nodes that it can be used on, and these nodes. On any other node it has the
// verdicts of the State. On the named nodes it has the scores. Pods with the same number of allocated claims share it, wherever their devices are.
// It is nil for a pod without an allocated claim, for one with an allocation that names no nodes, and for a pod without a Kept.
func (s *state) Elsewhere() (engine.Kept, []string) { return s.elsewhere(false) }

// Elsewhere is that of the state, for pods for which preemption can free devices.
func (f *freeing) Elsewhere() (engine.Kept, []string) { return f.elsewhere(true) }

func (s *state) elsewhere(freeing bool) (engine.Kept, []string) {
	var names []string
	for k := range s.pod.claims {
		c := &s.pod.claims[k]
		if !c.allocated() {
			continue
		}
		n := len(names)
		if names = appendNamed(names, c.object.Status.Allocation.NodeSelector); len(names) == n {
			return nil, nil
		}
	}
	if names == nil {
		return nil, nil
	}
	return s.keptAs(freeing, true), names
}

// appendNamed appends the names of all nodes that a selector may select; nothing when it may select a node that it does not name.
func appendNamed(dst []string, selector *v1.NodeSelector) []string {
	if selector == nil {
		return dst
	}
	n := len(dst)
	for k := range selector.NodeSelectorTerms {
		fields := selector.NodeSelectorTerms[k].MatchFields
		at := slices.IndexFunc(fields, func(f v1.NodeSelectorRequirement) bool {
			return f.Key == "metadata.name" && f.Operator == v1.NodeSelectorOpIn
		})
		if at < 0 {
			return dst[:n]
		}
		dst = append(dst, fields[at].Values...)
	}
	return dst
}
