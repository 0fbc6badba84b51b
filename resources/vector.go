package resources

import (
	"math"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Vector is an amount of every resource of a Schema, by column. nil is the zero amount. Amounts may be negative, as the
// free resources of an overcommitted node are.
type Vector []int64

// FromList converts list, interning names that the schema lacks. Names that kube-scheduler ignores (neither fixed nor
// IsScalar) are left out, and a negative or fractional quantity is converted as Value says. Allocates one vector.
func FromList(schema *Schema, list v1.ResourceList) Vector {
	names := make([]v1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names) // new columns in one order, whatever the map's
	for _, name := range names {
		if IsScalar(name) {
			schema.Intern(name)
		}
	}
	v := make(Vector, schema.Len())
	for name, q := range list {
		if c, ok := schema.Column(name); ok {
			v[c] = Value(name, q)
		}
	}
	return v
}

// At returns the amount in column c, zero beyond the end.
func (v Vector) At(c int) int64 {
	if c < len(v) {
		return v[c]
	}
	return 0
}

// Grow returns v with at least n columns, the new ones zero. It returns v itself when it is long enough, and otherwise a
// copy.
func (v Vector) Grow(n int) Vector {
	if len(v) >= n {
		return v
	}
	return append(slices.Clip(v), make(Vector, n-len(v))...)
}

// Add adds o to v in place and reports whether a column saturated. v must be at least as long as o, else it panics.
func (v Vector) Add(o Vector) (saturated bool) {
	v = v[:len(o)] // one bounds check, and the panic that is promised
	for c, n := range o {
		sum := v[c] + n
		if (v[c]^sum)&(n^sum) < 0 { // both operands have the sign that the sum lacks
			sum, saturated = limit(n), true
		}
		v[c] = sum
	}
	return saturated
}

// Sub subtracts o from v in place and reports whether a column saturated. v must be at least as long as o, else it panics.
func (v Vector) Sub(o Vector) (saturated bool) {
	v = v[:len(o)]
	for c, n := range o {
		diff := v[c] - n
		if (v[c]^n)&(v[c]^diff) < 0 { // operands of different sign, and the difference left the first one's
			diff, saturated = limit(v[c]), true
		}
		v[c] = diff
	}
	return saturated
}

// Max raises every column of v in place to o's where that is larger. v must be at least as long as o, else it panics.
func (v Vector) Max(o Vector) {
	v = v[:len(o)]
	for c, n := range o {
		v[c] = max(v[c], n)
	}
}

// FitsIn reports whether v is at most free in every column in which v is positive. What v does not ask for never fails,
// even where free is negative.
func (v Vector) FitsIn(free Vector) bool {
	for c, n := range v {
		if n > 0 && n > free.At(c) {
			return false
		}
	}
	return true
}

// Short appends the columns in which v does not fit into free (see FitsIn), in column order.
func (v Vector) Short(dst []int, free Vector) []int {
	for c, n := range v {
		if n > 0 && n > free.At(c) {
			dst = append(dst, c)
		}
	}
	return dst
}

// Equal reports whether v and o hold the same amounts; missing columns are zero.
func (v Vector) Equal(o Vector) bool {
	for c := range max(len(v), len(o)) {
		if v.At(c) != o.At(c) {
			return false
		}
	}
	return true
}

// Describe returns the columns that are not zero as "cpu=1500m memory=1073741824", in column order, "none" without any.
func (v Vector) Describe(schema *Schema) string {
	var b strings.Builder
	for c, n := range v {
		if n == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(schema.Name(c)))
		b.WriteByte('=')
		b.WriteString(strconv.FormatInt(n, 10))
		if c == CPU {
			b.WriteByte('m')
		}
	}
	if b.Len() == 0 {
		return "none"
	}
	return b.String()
}

func limit(sign int64) int64 {
	if sign < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}
