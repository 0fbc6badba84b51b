package testkit

import "math/rand/v2"

// Bytes decodes the bytes of a fuzz target into choices. Every choice takes one byte; after the last byte every choice is 0,
// so every input is a case and a small change of the input is a small change of the case. A package embeds *Bytes in a
// type of its own that has the choices of the package.
type Bytes struct{ rest []byte }

// NewBytes returns a decoder of data.
func NewBytes(data []byte) *Bytes { return &Bytes{data} }

// RandomBytes returns size bytes that depend on the seed alone. Tests use them as inputs of a fuzz target's function.
func RandomBytes(seed uint64, size int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// Next returns the next byte, 0 after the last.
func (b *Bytes) Next() byte {
	if len(b.rest) == 0 {
		return 0
	}
	next := b.rest[0]
	b.rest = b.rest[1:]
	return next
}

// Below returns a number from 0 to n-1. It panics when n is not from 1 to 256, as larger numbers need more than a byte.
func (b *Bytes) Below(n int) int {
	if n < 1 || n > 256 {
		panic("testkit: Below takes 1 to 256")
	}
	return int(b.Next()) % n
}

// More reports whether bytes are left.
func (b *Bytes) More() bool { return len(b.rest) > 0 }

// Copy returns a decoder of the bytes that are left.
func (b *Bytes) Copy() *Bytes { return &Bytes{b.rest} }

// OneIn reports whether a choice that n possibilities have is the last of them. Without bytes it is not, unless n is 1.
func (b *Bytes) OneIn(n int) bool { return b.Below(n) == n-1 }

// Uint64 makes Bytes the source of a rand.Rand of math/rand/v2. Each draw takes one byte, so a number has at most 256 values.
// After the last byte all draws are equal: a test must not draw until a draw differs.
//
// The byte is in the upper bits and in the lower bits, because Rand takes a number below a power of 2 from the lower bits. The
// bit after the upper byte keeps Rand from drawing again when the byte is 0.
func (b *Bytes) Uint64() uint64 {
	n := uint64(b.Next())
	return n<<56 | 1<<55 | n
}

// Int63 is Uint64 for math/rand, whose Rand takes a number as the remainder of the upper 31 bits. The byte is multiplied by a
// prime, so that every remainder occurs.
func (b *Bytes) Int63() int64 {
	return (int64(b.Next())*8388593 + 1<<22) << 32
}

// Seed does nothing. A Source of math/rand has this method.
func (*Bytes) Seed(int64) {}

// Pick returns an element of list, after the last byte the first element.
func Pick[T any](b *Bytes, list ...T) T { return list[b.Below(len(list))] }
