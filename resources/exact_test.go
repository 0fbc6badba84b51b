package resources_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/resources"
)

// exact is Value in rational numbers: the amount in units of 1 or of a thousandth, away from zero, within int64.
func exact(q resource.Quantity, perUnit int64) int64 {
	copied := q.DeepCopy()
	amount, ok := new(big.Rat).SetString(copied.AsDec().String())
	if !ok {
		panic("not a number: " + q.String())
	}
	amount.Mul(amount, new(big.Rat).SetInt64(perUnit))
	n, rest := new(big.Int).QuoRem(amount.Num(), amount.Denom(), new(big.Int))
	n.Add(n, big.NewInt(int64(rest.Sign())))
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// Value is exact at the ends of int64, in both forms that a quantity has in memory, and leaves its argument alone.
func TestValueAtTheEnds(t *testing.T) {
	var all []resource.Quantity
	for _, end := range []int64{0, math.MaxInt64, math.MaxInt64 / 1000, math.MinInt64, math.MinInt64 / 1000} {
		for d := int64(-2); d <= 2; d++ {
			n := end + d // at the ends this is the other end
			for _, scale := range []resource.Scale{resource.Nano, resource.Milli, 0, resource.Kilo} {
				all = append(all, *resource.NewScaledQuantity(n, scale))
			}
			for _, rest := range []string{"", "000", "500m", ".5", ".0005", "e3"} {
				if q, err := resource.ParseQuantity(fmt.Sprint(n) + rest); err == nil {
					all = append(all, q)
				}
			}
		}
	}
	require.Greater(t, len(all), 200)
	for _, q := range all {
		before := q.DeepCopy()
		require.Equal(t, exact(q, 1000), resources.Value(v1.ResourceCPU, q), "cpu %s", q.String())
		require.Equal(t, exact(q, 1), resources.Value(v1.ResourceMemory, q), "memory %s", q.String())
		require.Zero(t, before.Cmp(q), "the quantity %s is as before", before.String())
	}
}

// A request of the quota for an extended resource has a valid name too, so the longest domain is shorter by that prefix.
func TestLongestExtendedName(t *testing.T) {
	domain := func(n int) v1.ResourceName {
		label := strings.Repeat("a", 49) + "."
		return v1.ResourceName(strings.Repeat("b", n-4*len(label)) + "." + label + label + label + label[:49] + "/gpu")
	}
	require.True(t, resources.IsExtended(domain(244)), "%d", len(domain(244)))
	require.False(t, resources.IsExtended(domain(245)))
}

// The sums whose overflow shows in every bit saturate as others.
func TestOverflowInEveryBit(t *testing.T) {
	const third = math.MaxInt64/3*2 + 1 // bits 0101…
	require.Equal(t, int64(math.MaxInt64), resources.Add(third, third))
	v := resources.Vector{-third - 1}
	require.True(t, v.Sub(resources.Vector{third}))
	require.Equal(t, resources.Vector{math.MinInt64}, v)
}

// A column that saturates is reported, whatever the columns after it do. A vector that is too short is not changed, also when
// there is memory behind it.
func TestColumnsOfVectors(t *testing.T) {
	v := resources.Vector{math.MaxInt64, 1}
	require.True(t, v.Add(resources.Vector{1, 1}))
	require.True(t, resources.Vector{math.MinInt64, 1}.Sub(resources.Vector{1, 1}))

	room := resources.Vector{1, 2, 3}
	for name, change := range map[string]func(resources.Vector) bool{"Add": room[:1].Add, "Sub": room[:1].Sub} {
		require.Panics(t, func() { change(resources.Vector{1, 1}) }, name)
		require.Equal(t, resources.Vector{1, 2, 3}, room, name)
	}
	require.Zero(t, room[:1].At(1), "beyond the end")
	for n := range 4 {
		require.Len(t, room.Grow(n), 3, "long enough")
		require.Same(t, &room[0], &room.Grow(n)[0])
	}
}

// New columns are in alphabetical order, a clone has every name in its column, and ignored names change nothing.
func TestColumnsOfNames(t *testing.T) {
	list, names := v1.ResourceList{"foo": resource.MustParse("9")}, []string(nil)
	for k := range 20 {
		name := fmt.Sprintf("example.com/x%02d", k)
		list[v1.ResourceName(name)] = *resource.NewQuantity(int64(k+1), resource.DecimalSI)
		names = append(names, name)
	}
	s := new(resources.Schema)
	v := resources.FromList(s, list)
	require.Equal(t, slices.Repeat(resources.Vector{0}, resources.Scalars), v[:resources.Scalars], "foo is no resource of any column")
	clone := s.Clone()
	for k, name := range names {
		require.Equal(t, int64(k+1), v[resources.Scalars+k])
		require.Equal(t, name, string(s.Name(resources.Scalars+k)))
		c, ok := clone.Column(v1.ResourceName(name))
		require.True(t, ok)
		require.Equal(t, resources.Scalars+k, c)
	}
}
