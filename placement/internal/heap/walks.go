package heap

// Skip says which slots do not count. The zero value skips none.
type Skip struct {
	Marked []int32      // by slot; a slot with a number of at least 0 does not count. Empty: none has one
	Slots  map[int]bool // slots that do not count
}

func (s Skip) has(slot int32) bool {
	return len(s.Marked) > 0 && s.Marked[slot] >= 0 || s.Slots[int(slot)]
}

// Best returns the best entry that counts. There must be such an entry. It goes down the heap from the top, so its cost grows with the
// number of better entries. It uses the memory of spare.
func (h Heap) Best(skip Skip, spare *Heap) Entry {
	*spare = append((*spare)[:0], Entry{h[0].Key, 0})
	for {
		// spare holds positions of h, unordered and short
		at := 0
		for k := range *spare {
			if (*spare)[k].Key > (*spare)[at].Key {
				at = k
			}
		}
		i := int((*spare)[at].Slot)
		if !skip.has(h[i].Slot) {
			return h[i]
		}
		(*spare)[at] = (*spare)[len(*spare)-1]
		*spare = (*spare)[:len(*spare)-1]
		for c := i*fan + 1; c < min(i*fan+1+fan, len(h)); c++ {
			*spare = append(*spare, Entry{h[c].Key, int32(c)})
		}
	}
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
