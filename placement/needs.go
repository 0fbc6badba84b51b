package placement

// findSized returns the position of the predicate that compares numbers; -1 if there is none, and if pods that leave a slot may be what
// another predicate asks for.
func (w *whatIf) findSized() int {
	sized := -1
	for _, k := range w.moving {
		switch p := w.attempt.Predicates[k].(type) {
		case numbered:
			sized = k
		case yielding:
			if !p.Yields(w.attempt.pod) {
				return -1
			}
		default:
			return -1
		}
	}
	return sized
}

// Needs returns what has to leave slot i so that the pod fits: so many pods, and the amounts of the columns. It returns false if that is not
// certain: with nominated pods, and on a slot that another filter rejects.
func (w *whatIf) Needs(i int) (pods int64, columns []int, amounts []int64, ok bool) {
	if w.sized < 0 {
		return 0, nil, nil, false
	}
	if w.visit(i); w.static.Verdict != 0 || len(w.nominated) > 0 {
		return 0, nil, nil, false
	}
	for _, k := range w.moving {
		if k != w.sized && w.attempt.Predicates[k].Check(i) != 0 {
			return 0, nil, nil, false
		}
	}
	n := w.attempt.Predicates[w.sized].(numbered)
	if w.amounts == nil {
		w.amounts = make([]int64, n.Amounts())
	}
	pods, columns, ok = n.Missing(i, w.amounts)
	return pods, columns, w.amounts, ok
}
