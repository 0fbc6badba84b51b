package devices

import (
	"fmt"
	"slices"
	"strings"
)

func (s *state) Explain(i int) (e Explanation, ok bool) {
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

func (s *state) Numbers(i int) []string {
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
		case !s.pod.claims[at].reach.Matches(s.cluster.Node(i)):
			out = append(out, fmt.Sprintf("claim %s has devices that this node cannot use: %s", name, strings.Join(devices, ", ")))
		case ready.Failed != "":
			out = append(out, fmt.Sprintf("claim %s: binding of its devices failed: %s", name, ready.Failed))
		default:
			out = append(out, fmt.Sprintf("claim %s: the binding conditions of its devices were not met in time", name))
		}
	}
	return out
}

// lines returns the lines of Explain. Nodes of one class have equal lines apart from the names of other claims.
func (s *state) lines(i int) []string {
	if s.pod.special != nil || len(s.pending) == 0 {
		if e, ok := s.Explain(i); ok {
			return e.Lines()
		}
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, search, v := s.explainedAt(i)
	if known.lines == nil || len(known.blames) > 0 {
		search.name(&known.explanation, known.blames, v)
		known.lines = known.explanation.Lines()
	}
	return known.lines
}

// explainedAt returns the explanation of slot i, which nodes of one class share, for a pod with pending claims and no extended resources.
// The caller holds the lock.
func (s *state) explainedAt(i int) (known *explained, search *nodeSearch, v *view) {
	search, v = s.searchFor(nil), s.allocator.viewOf(i, s.cluster.Node(i))
	class := search.classOf(v)
	if known = s.explained[class]; known == nil {
		known = new(explained)
		known.explanation, known.blames = search.explain(s.cluster.Node(i))
		if class >= 0 && len(known.explanation.Pools) == 0 && known.explanation.Error == "" { // pools and errors have names
			s.explained[class] = known
		}
	}
	return known, search, v
}

func (s *state) Shortage(i int) (lacks, sees int) {
	var e Explanation
	if s.pod.special != nil || len(s.pending) == 0 {
		e, _ = s.Explain(i)
	} else if v := s.answer(i).verdict; v != noFreeSlot {
		s.mu.Lock()
		known, _, _ := s.explainedAt(i)
		e = known.explanation
		s.mu.Unlock()
	}
	for _, r := range e.Requests {
		lacks, sees = lacks+max(0, r.Wants-r.Left), max(sees, r.Devices)
	}
	return lacks, sees
}

// explained is the explanation of a class of nodes. The names of other claims in it belong to one of the nodes.
type explained struct {
	explanation Explanation
	blames      []blame
	lines       []string
}
