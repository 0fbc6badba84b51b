package reuse

// failure is an answer without a node. It holds until the log has another event.
type failure struct {
	answer Answer
	memo   any
}

// failed returns the failure of the pods whose key is in the engine's room.
func (e *Engine) failed() (Answer, bool) {
	x, known := e.failures[string(e.room.key)]
	if !known {
		return Answer{}, false
	}
	return x.answer, true
}

// fail keeps the answer, which has no node, for later pods like the pod that is asked about. The first such pod
// gets no kind: most pods never come back.
func (s *shape) fail(answer *Answer) {
	kind := s.kind()
	if kind.Key == "" {
		return
	}
	failures := s.engine.failures
	if len(failures) >= maxShapes {
		clear(failures)
	}
	x := &failure{}
	answer.Memo = &x.memo
	x.answer = *answer
	x.answer.Kind = kind
	failures[kind.Key] = x
	if !s.shared {
		answer.Kind = kind
	}
}
