package diagnose

// bits is a set of slots.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bits) remove(i int)   { b[i/64] &^= 1 << (i % 64) }
func (b bits) has(i int) bool { return i/64 < len(b) && b[i/64]>>(i%64)&1 == 1 }

// and removes from b the slots that are not in other. It reports whether b has a slot left.
func (b bits) and(other bits) bool {
	var left uint64
	for k := range b {
		b[k] &= other[k]
		left |= b[k]
	}
	return left != 0
}

func (b bits) empty() bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// appendTo appends the slots to a list, in their order.
func (b bits) appendTo(list []int) []int {
	for k, x := range b {
		for i := 64 * k; x != 0; i, x = i+1, x>>1 {
			if x&1 == 1 {
				list = append(list, i)
			}
		}
	}
	return list
}
