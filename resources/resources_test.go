package resources_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

func TestSchema(t *testing.T) {
	var s resources.Schema
	require.Equal(t, resources.Scalars, s.Len(), "the zero value is ready")
	require.Equal(t, resources.Scalars, s.Intern("nvidia.com/gpu"))
	require.Equal(t, resources.Scalars, s.Intern("nvidia.com/gpu"), "a name has one column")
	require.Equal(t, resources.Scalars+1, s.Intern("hugepages-2Mi"))
	require.Equal(t, resources.Scalars+2, s.Len())
	for c := range s.Len() {
		got, ok := s.Column(s.Name(c))
		require.True(t, ok)
		require.Equal(t, c, got)
	}
	_, ok := s.Column("example.com/x")
	require.False(t, ok, "Column does not intern")

	clone := s.Clone()
	require.Equal(t, resources.Scalars+2, clone.Intern("example.com/x"))
	require.Equal(t, resources.Scalars+2, s.Len(), "the original does not grow with its clone")
	_, ok = clone.Column("nvidia.com/gpu")
	require.True(t, ok)
}

func TestValue(t *testing.T) {
	type test struct {
		name     string
		resource v1.ResourceName
		quantity string
		want     int64
	}
	testkit.Run(t, []test{
		{"cpu in thousandths", "cpu", "1500m", 1500},
		{"cpu rounds up", "cpu", "100u", 1},
		{"bytes", "memory", "1Gi", 1 << 30},
		{"thousandths of a byte round up", "memory", "1500m", 2},
		{"scalar rounds up", "example.com/x", "1500m", 2},
		{"cpu saturates instead of overflowing", "cpu", "9223372036854775807", math.MaxInt64},
		{"negative cpu saturates", "cpu", "-9223372036854775807", math.MinInt64},
		{"the largest cpu that is exact", "cpu", "9223372036854775", 9223372036854775000},
		{"a cpu fraction next to the largest", "cpu", "9223372036854775500m", 9223372036854775500},
		{"memory saturates instead of overflowing", "memory", "10E", math.MaxInt64},
		{"negative memory saturates", "memory", "-10E", math.MinInt64},
		{"negative fractions round down", "memory", "-1500m", -2},
		{"zero", "pods", "0", 0},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, resources.Value(c.resource, resource.MustParse(c.quantity)))
	})
}

func TestNames(t *testing.T) {
	type test struct {
		name             v1.ResourceName
		scalar, extended bool
	}
	testkit.Run(t, []test{
		{"example.com/gpu", true, true},
		{"hugepages-2Mi", true, false},
		{"kubernetes.io/x", true, false},
		{"sub.kubernetes.io/x", true, false},
		{"attachable-volumes-csi", true, false},
		{"requests.example.com/x", false, false},
		{"foo", false, false},
		{"CPU", false, false},
		{"storage", false, false},
		{"cpu", false, false},
		{"example.com/", false, false},
		{"example.com/bad name", false, false},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.scalar, resources.IsScalar(c.name))
		require.Equal(t, c.extended, resources.IsExtended(c.name))
	})
}

func TestFromList(t *testing.T) {
	s := new(resources.Schema)
	v := resources.FromList(s, v1.ResourceList{
		"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Ki"), "pods": resource.MustParse("110"),
		"b.com/x": resource.MustParse("1"), "a.com/x": resource.MustParse("3"), "foo": resource.MustParse("9"),
	})
	require.Equal(t, resources.Vector{2000, 1024, 0, 110, 3, 1}, v, "scalars in alphabetical order, without unknown names")
	require.Equal(t, "cpu=2000m memory=1024 pods=110 a.com/x=3 b.com/x=1", v.Describe(s))
	require.Equal(t, "none", resources.Vector(nil).Describe(s))
	require.Equal(t, resources.Vector{0, 0, 0, 0, 0, 0}, resources.FromList(s, nil))
}

func TestSaturation(t *testing.T) {
	type test struct {
		name      string
		a, b      int64
		sum, diff int64
		satAdd    bool
		satSub    bool
	}
	testkit.Run(t, []test{
		{"plain", 1, 2, 3, -1, false, false},
		{"over the top", math.MaxInt64, 1, math.MaxInt64, math.MaxInt64 - 1, true, false},
		{"under the bottom", math.MinInt64, 1, math.MinInt64 + 1, math.MinInt64, false, true},
		{"both smallest", math.MinInt64, math.MinInt64, math.MinInt64, 0, true, false},
		{"minus the smallest", 0, math.MinInt64, math.MinInt64, math.MaxInt64, false, true},
		{"top minus negative", math.MaxInt64, -1, math.MaxInt64 - 1, math.MaxInt64, false, true},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.sum, resources.Add(c.a, c.b))
		v := resources.Vector{c.a}
		require.Equal(t, c.satAdd, v.Add(resources.Vector{c.b}))
		require.Equal(t, resources.Vector{c.sum}, v)
		v = resources.Vector{c.a}
		require.Equal(t, c.satSub, v.Sub(resources.Vector{c.b}))
		require.Equal(t, resources.Vector{c.diff}, v)
	})
}

// Adding a vector of any length and subtracting it again restores the amounts, unless the sum saturated.
func TestAddSubInverse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	edges := []int64{0, 1, -1, 1 << 40, math.MaxInt64, math.MinInt64, math.MaxInt64 / 2}
	for range 10_000 {
		v, o := make(resources.Vector, 3+r.IntN(3)), make(resources.Vector, r.IntN(4))
		for c := range v {
			v[c] = edges[r.IntN(len(edges))]
		}
		for c := range o {
			o[c] = edges[r.IntN(len(edges))]
		}
		w := append(resources.Vector(nil), v...)
		if w.Add(o) {
			continue
		}
		require.False(t, w.Sub(o))
		require.Equal(t, v, w)
	}
}

func TestGrow(t *testing.T) {
	v := resources.Vector{1, 2}
	g := v.Grow(4)
	require.Equal(t, resources.Vector{1, 2, 0, 0}, g)
	g[0] = 9
	require.Equal(t, resources.Vector{1, 2}, v, "a grown vector is a copy")
	require.Same(t, &g[0], &g.Grow(4)[0], "a vector that is long enough is returned itself")
	require.Panics(t, func() { v.Add(resources.Vector{1, 1, 1}) }, "the other vector is longer")
	require.Panics(t, func() { v.Sub(resources.Vector{1, 1, 1}) })
}

func TestNoAllocations(t *testing.T) {
	v, o := resources.Vector{5, 5, 5, 5, 5}, resources.Vector{1, 2, 3, 4, 9}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		v.Add(o)
		v.Sub(o)
		_ = o.At(9)
	}))
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		v    resources.Verdict
		text string
	}{
		{0, "allows"},
		{3, "rejects (3)"},
		{3 | resources.Unresolvable, "rejects for good (3)"},
		{resources.Unresolvable, "rejects for good (0)"},
	} {
		require.Equal(t, c.text, c.v.String())
	}
}

// A schema and its clone learn names apart from each other, whatever room the list of names has.
func TestClonesLearnApart(t *testing.T) {
	s := new(resources.Schema)
	for _, name := range []v1.ResourceName{"a", "b", "c", "d", "e"} {
		s.Intern("example.com/" + name)
		c := s.Clone()
		mine, theirs := c.Intern("example.com/clone"), s.Clone().Intern("example.com/other")
		require.Equal(t, mine, theirs)
		s.Intern("example.com/later-" + name)
		require.EqualValues(t, "example.com/clone", c.Name(mine))
	}
}
