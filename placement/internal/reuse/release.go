package reuse

import "github.com/podberth/podberth/placement/internal/hooks"

// count counts the running pods, in the memory of states that were released.
func (e *Engine) count(c hooks.Compiled) hooks.State {
	if x, ok := c.(hooks.Recounting); ok {
		return x.CountIn(&e.buffers.memory)
	}
	return c.Count()
}

// release gives the memory of a kind that is not used any more to kinds that are made later. No answer has this memory: of answers, only Predicates
// lead to states, and a kind whose predicates were given away keeps its memory.
func (s *podKind) release() {
	if s.given {
		return
	}
	b := &s.engine.buffers
	for k := range s.counted {
		if x, ok := s.counted[k].state.(hooks.Releasing); ok {
			x.Release(&b.memory)
		}
	}
	s.counted = nil
	s.exceptions.release(b)
}
