package reuse

import (
	"slices"

	"github.com/podberth/podberth/placement/internal/hooks"
)

// upToDate reports whether the layout and the exceptions have followed the objects beside the nodes.
func (s *podKind) upToDate() bool {
	now := make([]uint64, len(s.counted))
	s.shift(now, nil)
	return slices.Equal(now, s.layout.shifted) && (!s.exceptions.some() || slices.Equal(now, s.shifted))
}

// states counts the pods of the states again.
func (c *checker) states(s *podKind) {
	for k := range s.counted {
		x := &s.counted[k]
		c.want(x.keys == x.state.Keys(), "I10", "state %d has more keys", k)
		if !s.heaps && (c.unmatched(x) || c.wakes(x)) {
			continue
		}
		again := c.engine.count(x.compiled)
		if p, q := x.state.Filter(), again.Filter(); p != nil {
			for _, i := range c.engine.scan {
				c.want(p.Check(i) == q.Check(i), "I10", "verdict of state %d about slot %d", k, i)
			}
		}
	}
}

// wakes reports whether a running pod counts for the pod that an idle state was made for.
func (c *checker) wakes(x *counted) bool {
	if !x.idle {
		return false
	}
	_, idle := x.compiled.(hooks.Idle).AppendIdleKey(nil)
	return !idle
}

// unmatched reports whether a term set does something to a state that a shared kind leaves out: the terms match one of the pods alone.
func (c *checker) unmatched(x *counted) bool {
	for id := range int32(c.engine.log.TermSets()) {
		if rep, _, _ := c.engine.log.TermSet(id); rep != nil && !x.compiled.Matched(id) && x.state.OfTerms(id, rep) != nil {
			return true
		}
	}
	return false
}
