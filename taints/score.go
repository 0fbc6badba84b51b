package taints

import (
	v1 "k8s.io/api/core/v1"
)

const (
	// MaxScore is the best normalized score of a node.
	MaxScore int64 = 100
	// DefaultWeight is the weight of the scores in the default profile (1 up to configuration version v1beta2).
	DefaultWeight int64 = 3
)

// RawNode returns the number of taints of the node with effect PreferNoSchedule that are not tolerated, the raw score of
// the plugin TaintToleration: smaller is better, equal taints count each. Only tolerations with that effect or none can
// tolerate them. O(taints x tolerations), no allocation.
func (e *Evaluator) RawNode(node *v1.Node) int64 {
	var n int64
	for i := range node.Spec.Taints {
		if t := &node.Spec.Taints[i]; kindOf(t.Effect) == preferNoSchedule && !e.tolerates(t, preferNoSchedule) {
			n++
		}
	}
	return n
}

// Normalize turns a raw score into 0 to 100, hi being the largest raw score of the feasible nodes: 100 - 100*raw/hi with
// the quotient truncated, so that 1 of 3 gives 67; 100 when hi is 0. lo is not used. A pod that meets no untolerated
// soft taint anywhere gives every node 100, it is never skipped.
func Normalize(raw, lo, hi int64) int64 {
	if hi <= 0 {
		return MaxScore
	}
	return MaxScore - MaxScore*raw/hi
}

// NormalizeAll normalizes the raw scores of all feasible nodes in place.
func NormalizeAll(raw []int64) {
	var hi int64
	for _, r := range raw {
		hi = max(hi, r)
	}
	for i, r := range raw {
		raw[i] = Normalize(r, 0, hi)
	}
}

// Scores returns the normalized scores, 0 to 100, of the feasible nodes for a pod with these tolerations.
func Scores(nodes []*v1.Node, tolerations []v1.Toleration, o Options) []int64 {
	e := Compile(tolerations, o)
	scores := make([]int64, len(nodes))
	for i, n := range nodes {
		scores[i] = e.RawNode(n)
	}
	NormalizeAll(scores)
	return scores
}

// Normalize is the function Normalize, as a method beside Raw.
func (s *State) Normalize(raw, lo, hi int64) int64 { return Normalize(raw, lo, hi) }

// NormalizeAll is the function NormalizeAll, as a method beside Raw.
func (s *State) NormalizeAll(raw []int64) { NormalizeAll(raw) }
