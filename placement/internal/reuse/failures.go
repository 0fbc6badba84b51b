package reuse

// failures are the answers without a node that hold until the log has another event, by key of pods.
type failures struct {
	version uint64
	answers map[string]*failure
}

type failure struct {
	answer Answer
	memo   any
}

// failed returns the failure of the pods whose key is in the engine's room.
func (e *Engine) failed() (Answer, bool) {
	if len(e.failures.answers) == 0 {
		return Answer{}, false
	}
	if e.failures.version != e.at {
		e.failures.forget()
		return Answer{}, false
	}
	x, known := e.failures.answers[string(e.room.key)]
	if !known {
		return Answer{}, false
	}
	return x.answer, true
}

// forget drops all failures.
func (f *failures) forget() { clear(f.answers) }

// fail keeps the answer, which has no node, for later pods like the pod that is asked about. The first such pod
// gets no kind: most pods never come back.
func (s *shape) fail(answer *Answer) {
	kind := s.kind()
	if kind.Key == "" {
		return
	}
	f := &s.engine.failures
	if f.version != s.version || len(f.answers) >= maxShapes {
		f.forget()
	}
	x := &failure{}
	answer.Memo = &x.memo
	x.answer = *answer
	x.answer.Kind = kind
	f.version, f.answers[kind.Key] = s.version, x
	if !s.shared {
		answer.Kind = kind
	}
}
