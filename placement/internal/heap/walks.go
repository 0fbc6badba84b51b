package heap

import "github.com/podberth/podberth/internal/view"

// Skip says which slots do not count. The zero value skips none.
type Skip struct {
	Marked []int32    // by slot; a slot with a number of at least 0 does not count. Empty: none has one
	Slots  view.Slots // slots that do not count
}

func (s *Skip) has(slot int32) bool {
	return len(s.Marked) > 0 && s.Marked[slot] >= 0 || s.Slots.Has(int(slot))
}

// Best returns the best entry that counts. There must be such an entry. Nothing below an entry that counts is looked at, so its cost grows with
// the number of entries that do not count and are above the others.
func (h Heap) Best(skip Skip) Entry { return h.best(0, &skip, Entry{Key: -1}) }

// best returns the best entry that counts from position i down, or an entry that is as good.
func (h Heap) best(i int, skip *Skip, best Entry) Entry {
	switch {
	case h[i].Key <= best.Key:
	case !skip.has(h[i].Slot):
		return h[i]
	default:
		for c := i*fan + 1; c < min(i*fan+1+fan, len(h)); c++ {
			best = h.best(c, skip, best)
		}
	}
	return best
}

// Flip flips the bits of the places of the entries with a score.
func (h Heap) Flip(score int64, bits []uint64) { h.flip(0, score, bits) }

// flip flips from position i down.
func (h Heap) flip(i int, score int64, bits []uint64) {
	if i < len(h) && Score(h[i].Key) == score {
		place := Place(h[i].Key)
		bits[place/64] ^= 1 << (place % 64)
	}
	for c := i*fan + 1; c < min(i*fan+1+fan, len(h)); c++ {
		if Score(h[c].Key) >= score {
			h.flip(c, score, bits)
		}
	}
}
