package affinity

import "github.com/podberth/podberth/resources"

// State is a PodEvaluator applied to a cluster: counts by topology key and domain. Check, Raw and the other reads are safe
// for concurrent use; Apply, Add and Remove are writes. It follows pods that come and go by those; after a change of a
// node or of a namespace's labels it must be counted anew.
type State struct {
	evaluator *PodEvaluator
	cluster   Cluster

	pairs                                    uint64 // the pod's label pairs (see guard)
	affinity, anti, preferred, preferredAnti []bound
	self                                     bool // the pod matches all its required affinity terms

	columns                []column
	affinityCols, antiCols []int // columns of the required terms, each once
	affinityCells          int   // counts that are not 0
	existingCells          int
	marks                  int64 // contributions to the score

	spare   []column // columns of an earlier count, for their memory
	scratch Effect   // of Add and Remove
}

// column finds the column of a key, made at its first use.
func (s *State) column(key string) *column { return &s.columns[s.columnIndex(key)] }

func (s *State) columnIndex(key string) int {
	for i := range s.columns {
		if s.columns[i].key == key {
			return i
		}
	}
	s.columns = append(s.columns, newColumn(s.cluster, key))
	if n := len(s.spare); n > 0 {
		s.columns[len(s.columns)-1].reuse(&s.spare[n-1])
		s.spare = s.spare[:n-1]
	}
	return len(s.columns) - 1
}

// namespaceLabels returns the labels of the incoming pod's namespace, nil when it is unknown.
func (s *State) namespaceLabels() map[string]string {
	return labelsOf(s.evaluator.pod.Namespace, s.cluster)
}

// Check returns the filter's verdict on slot i, in v1.36.3's order: PodAffinity, PodAntiAffinity, ExistingAntiAffinity; 0
// allows; Unparsable on every slot when CompilePods returned a Rejection. It allocates nothing.
//
// Required affinity holds when, for each term, the node has the topology key and a running pod that matches all terms is
// counted in its domain; or when no such pod is counted in any domain, the pod matches all its own terms and the node has
// all the keys. Anti-affinity fails when a matching pod is counted in the node's domain of any of its terms; a node
// without the key cannot fail the term.
func (s *State) Check(i int) resources.Verdict {
	if s.evaluator.err != nil {
		return Unparsable
	}
	unmet := false
	for _, k := range s.affinityCols {
		col := &s.columns[k]
		d := col.domain(i)
		if d < 0 {
			return PodAffinity
		}
		if at(col.affinity, d) <= 0 {
			unmet = true
		}
	}
	if unmet && !(s.self && s.affinityCells == 0) {
		return PodAffinity
	}
	for _, k := range s.antiCols {
		col := &s.columns[k]
		if len(col.anti) > 0 && at(col.anti, col.domain(i)) > 0 {
			return PodAntiAffinity
		}
	}
	for k := range s.columns {
		col := &s.columns[k]
		if len(col.existing) > 0 && at(col.existing, col.domain(i)) > 0 {
			return ExistingAntiAffinity
		}
	}
	return 0
}

// Raw returns the raw score of slot i: the sum, over the topology keys that the node has, of the weights counted in its
// domain. It may be negative. It allocates nothing.
func (s *State) Raw(i int) int64 {
	var sum int64
	for k := range s.columns {
		col := &s.columns[k]
		if len(col.score) > 0 {
			sum += at(col.score, col.domain(i))
		}
	}
	return sum
}

// Skips reports whether v1.36.3 does not run the filter for this pod: it has no required terms and no running pod's
// required anti-affinity matches it. Check allows every node then.
func (s *State) Skips() bool {
	return s.evaluator.err == nil && len(s.affinity) == 0 && len(s.anti) == 0 && s.existingCells == 0
}

// ScoreSkips reports whether v1.36.3 does not score this pod: nothing contributes anywhere, not even 0, or
// IgnorePreferredTermsOfExistingPods leaves it out. Raw is 0 on every slot then.
func (s *State) ScoreSkips() bool { return s.marks == 0 }

// SelfAll reports whether the pod matches all of its own required affinity terms, as PodEvaluator.SelfAll.
func (s *State) SelfAll() bool { return s.self }

// Normalize brings a raw score to 0..100: 100 * (raw-lo)/(hi-lo) in float64, divided first, then multiplied, then
// truncated; lo and hi are the smallest and largest raw score of the feasible nodes. It is 0 when they are equal.
func (s *State) Normalize(raw, lo, hi int64) int64 {
	if hi <= lo {
		return 0
	}
	return int64(100 * (float64(raw-lo) / float64(hi-lo)))
}

// NormalizeAll normalizes the raw scores of the feasible nodes in place.
func (s *State) NormalizeAll(raw []int64) { normalizeAll(raw, s.Normalize) }

// Reasons returns v1.36.3's texts of a verdict.
func (s *State) Reasons(verdict resources.Verdict) []string { return Reasons(verdict) }

// AppendKeys appends the topology keys that verdict and raw score depend on, in the order in which AppendSignature counts
// them. Apply, Add and Remove may add one, at the end.
func (s *State) AppendKeys(dst []string) []string {
	for k := range s.columns {
		dst = append(dst, s.columns[k].key)
	}
	return dst
}

// AppendCounted appends for each key of AppendKeys whether its place in a signature is of counts of the node, which are three
// numbers, and not of a domain, which is one.
func (s *State) AppendCounted(dst []bool) []bool {
	for k := range s.columns {
		dst = append(dst, s.columns[k].unique)
	}
	return dst
}

// AppendSignature appends the integers that determine verdict and raw score of slot i together with counts of whole
// domains: slots of equal signature always get the same. For a key that nodes share it is the domain; for one that no two
// nodes share (kubernetes.io/hostname) which counts are above 0, and the score. A slot's signature changes only by events
// on that slot, as long as AppendKeys appends the same.
func (s *State) AppendSignature(dst []int32, i int) []int32 {
	for k := range s.columns {
		col := &s.columns[k]
		d := col.domain(i)
		if !col.unique {
			dst = append(dst, d)
			continue
		}
		if d < 0 {
			dst = append(dst, -1, 0, 0)
			continue
		}
		var flags int32
		if at(col.affinity, d) > 0 {
			flags |= 1
		}
		if at(col.anti, d) > 0 {
			flags |= 2
		}
		if at(col.existing, d) > 0 {
			flags |= 4
		}
		score := at(col.score, d)
		dst = append(dst, flags, int32(score), int32(score>>32))
	}
	return dst
}

// AppendCountedSlots appends the slots that have a count other than 0 in their signature, some of them more than once.
// O(nodes) for each key that no two nodes share.
func (s *State) AppendCountedSlots(dst []int32) []int32 {
	for k := range s.columns {
		col := &s.columns[k]
		if !col.unique {
			continue
		}
		for i, d := range col.ids {
			if d >= 0 && (at(col.affinity, d) != 0 || at(col.anti, d) != 0 || at(col.existing, d) != 0 || at(col.score, d) != 0) {
				dst = append(dst, int32(i))
			}
		}
	}
	return dst
}

// Dynamic reports whether verdict or raw score of a slot can change by events on other slots: when nodes share a domain of
// one of the keys, or by the rule for the first pod of a group. An event that adds a key (AppendKeys) must be treated as
// a change of every slot.
func (s *State) Dynamic() bool {
	if len(s.affinity) > 0 {
		return true
	}
	for k := range s.columns {
		if !s.columns[k].unique {
			return true
		}
	}
	return false
}
