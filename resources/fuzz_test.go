package resources_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// ends are numbers where amounts are converted, or saturate, in another way.
var ends = []int64{0, 0, math.MaxInt64, math.MinInt64, math.MaxInt64 / 1000, math.MinInt64 / 1000, 1 << 20, -1 << 20}

// near returns a number that is at most 4 away from an end, beyond int64 from the other end.
func near(b *testkit.Bytes) int64 { return testkit.Pick(b, ends...) + int64(b.Below(9)-4) }

// Value is exact, in both forms that a quantity has in memory.
func FuzzValue(f *testing.F) {
	f.Add([]byte("amounts next to the ends"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for b := testkit.NewBytes(data); b.More(); {
			q := resource.NewScaledQuantity(near(b), testkit.Pick(b, 0, resource.Milli, resource.Micro, resource.Kilo))
			if b.OneIn(2) {
				q.AsDec()
			}
			if want, got := exact(*q, 1000), resources.Value(v1.ResourceCPU, *q); want != got {
				t.Fatalf("cpu %s: want %d, got %d", q, want, got)
			}
			if want, got := exact(*q, 1), resources.Value(v1.ResourceMemory, *q); want != got {
				t.Fatalf("memory %s: want %d, got %d", q, want, got)
			}
		}
	})
}

// Vectors grow with zeros, add column by column, and are described without the columns of zero.
func FuzzVectors(f *testing.F) {
	f.Add([]byte("vectors of some columns"))
	schema := new(resources.Schema)
	schema.Intern("example.com/a")
	f.Fuzz(func(t *testing.T, data []byte) {
		for b := testkit.NewBytes(data); b.More(); {
			v, o := make(resources.Vector, b.Below(schema.Len()+1)), make(resources.Vector, b.Below(schema.Len()+1))
			for _, x := range []resources.Vector{v, o} {
				for c := range x {
					x[c] = near(b)
				}
			}
			grown := v.Grow(len(o))
			if len(grown) != max(len(v), len(o)) || !slices.Equal(v, grown[:len(v)]) || slices.ContainsFunc(grown[len(v):], func(n int64) bool { return n != 0 }) {
				t.Fatalf("%v of %d columns: %v", v, len(o), grown)
			}
			want, ended := slices.Clone(grown), false
			for c, n := range o {
				switch sum := grown[c] + n; {
				case n > 0 && sum < grown[c]:
					want[c], ended = math.MaxInt64, true
				case n < 0 && sum > grown[c]:
					want[c], ended = math.MinInt64, true
				default:
					want[c] = sum
				}
			}
			if saturated := grown.Add(o); saturated != ended || !slices.Equal(want, grown) {
				t.Fatalf("%v and %v: want %v, got %v, %t", v, o, want, grown, saturated)
			}
			var words []string
			for c, n := range grown {
				if n != 0 {
					words = append(words, string(schema.Name(c))+"="+strconv.FormatInt(n, 10)+map[bool]string{true: "m"}[c == resources.CPU])
				}
			}
			text := strings.Join(words, " ")
			if text == "" {
				text = "none"
			}
			if got := grown.Describe(schema); text != got {
				t.Fatalf("want %q, got %q", text, got)
			}
		}
	})
}
