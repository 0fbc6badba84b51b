package heap

// Skip says which slots do not count. The zero value skips none.
type Skip struct {
	Marked []int32      // by slot; a slot with a number of at least 0 does not count. nil: none has one
	Slots  map[int]bool // slots that do not count
}

func (s Skip) has(slot int32) bool {
	return s.Marked != nil && s.Marked[slot] >= 0 || s.Slots[int(slot)]
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

// Mark sets the bits of the places of the entries that count and have a score. No entry that counts may have a larger score. Mark returns
// how many there are. The heap must not be empty, and its first entry has at least that score.
func (h Heap) Mark(score int64, skip Skip, bits []uint64) int { return h.mark(0, score, skip, bits) }

// mark marks from position i down.
func (h Heap) mark(i int, score int64, skip Skip, bits []uint64) (n int) {
	if Score(h[i].Key) == score && !skip.has(h[i].Slot) {
		place := Place(h[i].Key)
		bits[place/64] |= 1 << (place % 64)
		n = 1
	}
	for c := i*fan + 1; c < min(i*fan+1+fan, len(h)); c++ {
		if Score(h[c].Key) >= score {
			n += h.mark(c, score, skip, bits)
		}
	}
	return n
}
