package affinity

import "github.com/podberth/podberth/internal/engine"

// Counts returns what package placement asks of the state to keep answers from decision to decision. The result follows the state.
func (s *state) Counts() engine.Counts { return counts{s} }

type counts struct{ state *state }

// Keys yields the keys that verdict and raw score depend on.
func (s counts) Keys(yield func(key string, single bool) bool) {
	for k := range s.state.columns {
		if !yield(s.state.columns[k].key, s.state.columns[k].unique) {
			return
		}
	}
}

// Len returns the number of keys.
func (s counts) Len() int { return len(s.state.columns) }

// AppendSignature appends for a key that nodes share the domain. For a key with one node per domain (kubernetes.io/hostname) it appends
// which counts are above 0, and the score. Rule A13.4.
func (s counts) AppendSignature(dst []int32, i int) []int32 {
	for k := range s.state.columns {
		col := &s.state.columns[k]
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
		if countIn(col.affinity, d) > 0 {
			flags |= 1
		}
		if countIn(col.anti, d) > 0 {
			flags |= 2
		}
		if countIn(col.existing, d) > 0 {
			flags |= 4
		}
		score := countIn(col.score, d)
		dst = append(dst, flags, int32(score), int32(score>>32))
	}
	return dst
}

func (s counts) AppendCountedSlots(dst []int32) []int32 {
	for k := range s.state.columns {
		col := &s.state.columns[k]
		if !col.unique {
			continue
		}
		for i, d := range col.ids {
			if countIn(col.affinity, d) != 0 || countIn(col.anti, d) != 0 || countIn(col.existing, d) != 0 || countIn(col.score, d) != 0 {
				dst = append(dst, int32(i))
			}
		}
	}
	return dst
}
