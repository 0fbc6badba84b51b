package spread

import "github.com/podberth/podberth/internal/engine"

// Counts returns what package placement asks of the state to keep answers from decision to decision. The result follows the state; its
// type is internal.
func (s *hardState) Counts() engine.Counts { return hardCounts{s} }

// Counts returns what package placement asks of the state to keep answers from decision to decision. The result follows the state; its
// type is internal.
func (s *softState) Counts() engine.Counts { return softCounts{s} }

type (
	hardCounts struct{ state *hardState }
	softCounts struct{ state *softState }
)

func (s hardCounts) Keys(yield func(key string, single bool) bool) {
	s.state.hard.yieldKeys(s.state.single, yield)
}

func (s softCounts) Keys(yield func(key string, single bool) bool) {
	s.state.soft.yieldKeys(s.state.single, yield)
}

func (s hardCounts) Len() int { return len(s.state.single) }
func (s softCounts) Len() int { return len(s.state.single) }

// yieldKeys yields the key of each constraint, with whether its counts are those of the node alone.
func (e *evaluator) yieldKeys(single []bool, yield func(key string, single bool) bool) {
	for k, alone := range single {
		if !yield(e.constraints[k].key, alone) {
			return
		}
	}
}

// AppendSignature appends the node's domain of each constraint; its count, for a key with another value on every node; or -1 without
// the label.
func (s hardCounts) AppendSignature(dst []int32, i int) []int32 {
	for k := range s.state.cols {
		col := &s.state.cols[k]
		switch d := col.ids[i]; {
		case d >= 0 && col.unique:
			dst = append(dst, col.counts[d])
		default:
			dst = append(dst, d)
		}
	}
	return dst
}

// AppendSignature appends as for HardState; the count for the hostname too. An ignored node has -1 for all constraints.
func (s softCounts) AppendSignature(dst []int32, i int) []int32 {
	ignored := s.state.Ignored(i)
	for k := range s.state.cols {
		col := &s.state.cols[k]
		switch d := col.ids[i]; {
		case ignored || d < 0:
			dst = append(dst, -1)
		case col.hostname:
			dst = append(dst, col.counts[i])
		case col.unique:
			dst = append(dst, col.counts[d])
		default:
			dst = append(dst, d)
		}
	}
	return dst
}

func (s hardCounts) AppendCountedSlots(dst []int32) []int32 {
	for k := range s.state.cols {
		col := &s.state.cols[k]
		if !col.unique {
			continue
		}
		for i, d := range col.ids {
			if d >= 0 && col.counts[d] != 0 {
				dst = append(dst, int32(i))
			}
		}
	}
	return dst
}

// AppendCountedSlots may append ignored slots too.
func (s softCounts) AppendCountedSlots(dst []int32) []int32 {
	for k := range s.state.cols {
		col := &s.state.cols[k]
		if !col.hostname && !col.unique {
			continue
		}
		for i, d := range col.ids {
			if d >= 0 && (col.hostname && col.counts[i] != 0 || !col.hostname && col.counts[d] != 0) {
				dst = append(dst, int32(i))
			}
		}
	}
	return dst
}
