package devices

import (
	"fmt"
	"slices"
	"strings"
)

// Explain says what slot i offers to the claims of the pod that have no allocation. ok is false when the plugin has nothing to
// allocate there: the slot has no node, every claim has an allocation, or v1.36 does not search on the node. The cost is that
// of Search.Explain.
func (s *State) Explain(i int) (e Explanation, ok bool) {
	v := s.answer(i).verdict
	s.mu.Lock()
	defer s.mu.Unlock()
	if v == noFreeSlot || v == leftOver || v == resourceAbsent || len(s.pending) == 0 && s.pod.special == nil {
		return Explanation{}, false
	}
	node := s.cluster.Node(i)
	if s.pod.special == nil {
		return s.searchFor(nil).Explain(node), true
	}
	provided, _ := s.pod.extended.provided(s.pod.asked, node)
	if len(provided) == 0 && len(s.pod.claims) == 1 {
		return Explanation{}, false
	}
	return s.searchFor(provided).Explain(node), true
}

// Numbers returns why Check rejects slot i: the lines of Explain, and a line for each claim whose allocation cannot be used
// there. It returns nil when Check allows the slot.
func (s *State) Numbers(i int) []string {
	v := s.answer(i).verdict
	if v == 0 || v == noFreeSlot {
		return nil
	}
	var out []string
	if v != notAvailable {
		return s.lines(i)
	}
	for _, c := range s.unavailable(s.cluster.Node(i)) {
		name := c.Namespace + "/" + c.Name
		var devices []string
		for k := range c.Status.Allocation.Devices.Results {
			r := &c.Status.Allocation.Devices.Results[k]
			devices = append(devices, ID{r.Driver, r.Pool, r.Device}.String())
		}
		ready := BindingReadiness(c, s.clock.BindingTimeout, s.clock.Now)
		at := slices.IndexFunc(s.pod.claims, func(x podClaim) bool { return x.object == c })
		switch {
		case s.pod.claims[at].reach != nil && !s.pod.claims[at].reach.Matches(s.cluster.Node(i)):
			out = append(out, fmt.Sprintf("claim %s has devices that this node cannot use: %s", name, strings.Join(devices, ", ")))
		case ready.Failed != "":
			out = append(out, fmt.Sprintf("claim %s: binding of its devices failed: %s", name, ready.Failed))
		default:
			out = append(out, fmt.Sprintf("claim %s: the binding conditions of its devices were not met in time", name))
		}
	}
	return out
}

// lines returns the lines of Explain. Nodes of one class have equal lines.
func (s *State) lines(i int) []string {
	class := int32(-1)
	if s.pod.special == nil && len(s.pending) > 0 {
		s.mu.Lock()
		class = s.searchFor(nil).classOf(s.allocator.viewOf(i, s.cluster.Node(i)))
		known := s.explained[class]
		s.mu.Unlock()
		if known != nil {
			return known
		}
	}
	e, ok := s.Explain(i)
	if !ok {
		return nil
	}
	out := e.Lines()
	if class >= 0 && len(e.Pools) == 0 && e.Error == "" { // pools and errors have names
		s.mu.Lock()
		s.explained[class] = out
		s.mu.Unlock()
	}
	return out
}
