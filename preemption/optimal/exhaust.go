package optimal

// blindSteps bounds a search that learns nothing, on one node.
const blindSteps = 20_000

// needsPods reports whether several pods of other nodes that stay may be what gives the preemptor room.
func (n *node) needsPods() bool {
	w, ok := n.p.WhatIf.(interface{ NeedsPods() bool })
	return ok && w.NeedsPods()
}

// exhaust searches the sets that are better than the answer without the rule that more victims give more room: a pod that stays may
// hold up the smallest count of a spread constraint. It reports whether the search was complete.
func (n *node) exhaust() bool {
	n.pinned, n.clauses, n.blind = -1, nil, n.s.proof.Steps+blindSteps
	n.unforce()
	n.bar()
	return n.branch(0, noVictims)
}
