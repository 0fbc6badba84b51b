package resources

import "math"

// Add returns a + b, limited to the range of int64.
func Add(a, b int64) int64 {
	sum := a + b
	if (a^sum)&(b^sum) < 0 { // a and b have the same sign, and the sum does not
		return limit(b)
	}
	return sum
}

// subtract returns a - b, limited to the range of int64.
func subtract(a, b int64) int64 {
	diff := a - b
	if (a^b)&(a^diff) < 0 { // a and b have different signs, and the difference does not have the sign of a
		return limit(a)
	}
	return diff
}

// limit returns the end of int64 that has the sign of n.
func limit(n int64) int64 {
	if n < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}
