package score

import (
	"math"
	"math/bits"
)

// mulDiv returns n*by/of, truncated toward zero. The product cannot overflow; a result beyond int64 saturates. of must not
// be 0.
func mulDiv(n, by, of int64) int64 {
	if n <= math.MaxInt32 && n >= math.MinInt32 && by <= math.MaxInt32 && by >= math.MinInt32 {
		return n * by / of
	}
	negative := (n < 0) != (by < 0) != (of < 0)
	hi, lo := bits.Mul64(magnitude(n), magnitude(by))
	d := magnitude(of)
	if hi >= d {
		return saturate(math.MaxUint64, negative)
	}
	q, _ := bits.Div64(hi, lo, d)
	return saturate(q, negative)
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func saturate(m uint64, negative bool) int64 {
	switch {
	case negative && m > math.MaxInt64:
		return math.MinInt64
	case negative:
		return -int64(m)
	case m > math.MaxInt64:
		return math.MaxInt64
	}
	return int64(m)
}

// share returns n*limit/of, truncated; limit is 10 or 100. It uses the plain division wherever that cannot overflow.
func share(n, limit, of int64) int64 {
	if uint64(n) <= math.MaxInt64/MaxScore {
		return n * limit / of
	}
	return mulDiv(n, limit, of)
}

// times multiplies and saturates at the ends of int64.
func times(a, b int64) int64 { return mulDiv(a, b, 1) }
