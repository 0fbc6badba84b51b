package resources

import (
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Vector is an amount of every resource of a [Schema], by column. A nil vector is zero in every column. Amounts may be
// negative, such as the free resources of an overcommitted node.
type Vector []int64

// FromList converts a list of quantities with [Value]. It interns the names that the schema lacks, in alphabetical order. It
// leaves out names that kube-scheduler ignores: those without a fixed column for which [IsScalar] is false. A nil list gives
// zeros. FromList panics when schema is nil.
func FromList(schema *Schema, list v1.ResourceList) Vector {
	names := make([]v1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names) // the order of new columns must not depend on the map
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

// At returns the amount in column c, zero beyond the end of v. It panics when c is negative.
func (v Vector) At(c int) int64 {
	if c < len(v) {
		return v[c]
	}
	return 0
}

// Grow returns a vector of at least n columns with the amounts of v. New columns are zero. Grow returns v itself when v is
// long enough, and a copy otherwise.
func (v Vector) Grow(n int) Vector {
	if len(v) >= n {
		return v
	}
	return append(slices.Clip(v), make(Vector, n-len(v))...)
}

// Add adds o to v in place and reports whether a column saturated, that is, met an end of int64. It panics when v is shorter
// than o.
func (v Vector) Add(o Vector) (saturated bool) {
	v = v[:len(o):len(v)] // one bounds check, and the panic that the comment promises before anything changes
	for c, n := range o {
		sum := Add(v[c], n)
		saturated = saturated || sum-n != v[c]
		v[c] = sum
	}
	return saturated
}

// Sub subtracts o from v in place and reports whether a column saturated. It panics when v is shorter than o.
func (v Vector) Sub(o Vector) (saturated bool) {
	v = v[:len(o):len(v)]
	for c, n := range o {
		diff := subtract(v[c], n)
		saturated = saturated || diff+n != v[c]
		v[c] = diff
	}
	return saturated
}

// Describe returns the columns that are not zero, in column order, as in "cpu=1500m memory=1073741824". It returns "none"
// when all columns are zero. It panics when an amount is in a column that the schema does not have.
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
