package key

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// odd are strings whose bytes look like lengths and flags.
var odd = []string{"", "a", "\x00", "\x01", "\x01\x00"}

// lists returns all lists of at most two elements.
func lists[T any](elements []T) (out [][]T) {
	out = append(out, nil)
	for _, x := range elements {
		out = append(out, []T{x})
		for _, y := range elements {
			out = append(out, []T{x, y})
		}
	}
	return out
}

// pairs returns nil and all maps of at most two entries.
func pairs() (out []map[string]string) {
	out = append(out, nil, map[string]string{})
	for _, k := range odd {
		for _, v := range odd {
			out = append(out, map[string]string{k: v})
			for _, other := range odd {
				if other > k {
					out = append(out, map[string]string{k: v, other: "a"}, map[string]string{k: "a", other: v})
				}
			}
		}
	}
	return out
}

// TestDistinct checks for each function that different values write different bytes, and that the bytes of no value begin
// with the bytes of another value. So a forgotten length, flag or part fails the test.
func TestDistinct(t *testing.T) {
	groups := map[string]map[string]any{} // the values by their bytes
	add := func(group string, b []byte, value any) {
		if groups[group] == nil {
			groups[group] = map[string]any{}
		}
		if other, twice := groups[group][string(b)]; twice && !reflect.DeepEqual(other, value) {
			t.Errorf("%s: %#v and %#v write %q", group, other, value, b)
		}
		groups[group][string(b)] = value
	}
	for _, n := range []int{0, 1, 2, 127, 128, 1 << 40} {
		add("lengths", Len(nil, n), n)
		add("numbers", Int(nil, int64(n)), int64(n))
		add("numbers", Int(nil, int64(-n)), int64(-n))
		add("optional", Optional(nil, &n, func(dst []byte, n int) []byte { return Int(dst, int64(n)) }), n)
	}
	add("optional", Optional(nil, nil, func(dst []byte, n int) []byte { return Int(dst, int64(n)) }), nil)
	add("flags", Flag(nil, false), false)
	add("flags", Flag(nil, true), true)
	for _, x := range odd {
		add("text", Text(nil, x), x)
	}
	for _, x := range lists(odd) {
		add("texts", Texts(nil, x), x)
	}
	for _, m := range pairs() {
		add("pairs", Pairs(nil, m), m)
	}
	add("resources", Resources(nil, nil), "")
	amounts := []string{"0", "1", "-1", "1m", "2m", "100", "1e30", "13n"}
	for _, x := range amounts {
		add("quantities", Quantity(nil, resource.MustParse(x)), x)
		for _, name := range odd {
			add("resources", Resources(nil, v1.ResourceList{v1.ResourceName(name): resource.MustParse(x)}), name+" "+x)
			for _, y := range amounts {
				add("resources", Resources(nil, v1.ResourceList{v1.ResourceName(name): resource.MustParse(x), "b": resource.MustParse(y)}), name+" "+x+" b "+y)
			}
		}
	}
	add("selectors", Selector(nil, nil), nil)
	var expressions []metav1.LabelSelectorRequirement
	for _, values := range lists(odd[:3]) {
		for _, x := range odd[:3] {
			expressions = append(expressions, metav1.LabelSelectorRequirement{Key: x, Operator: "In", Values: values},
				metav1.LabelSelectorRequirement{Key: "a", Operator: metav1.LabelSelectorOperator(x), Values: values})
		}
	}
	for _, list := range lists(expressions) {
		add("selectors", Selector(nil, &metav1.LabelSelector{MatchExpressions: list}), &metav1.LabelSelector{MatchExpressions: list})
	}
	for _, m := range pairs()[1:] {
		add("selectors", Selector(nil, &metav1.LabelSelector{MatchLabels: m}), &metav1.LabelSelector{MatchLabels: m})
	}
	controls := true
	add("controllers", Controller(nil, &v1.Pod{}), nil)
	for _, x := range odd {
		for _, y := range odd {
			for _, o := range []metav1.OwnerReference{{APIVersion: x, Kind: y}, {Kind: x, Name: y}, {APIVersion: x, Name: y}} {
				o.Controller = &controls
				add("controllers", Controller(nil, &v1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{o}}}), o)
			}
		}
	}
	for group, values := range groups {
		keys := slices.Sorted(maps.Keys(values))
		require.NotEmpty(t, keys)
		for k := range len(keys) - 1 {
			if strings.HasPrefix(keys[k+1], keys[k]) {
				t.Errorf("%s: %#v begins like %#v", group, values[keys[k+1]], values[keys[k]])
			}
		}
	}
}

// TestEqual checks that equal values write equal bytes, whatever the order of a map.
func TestEqual(t *testing.T) {
	a, b := map[string]string{}, map[string]string{}
	for i := range 40 {
		a[string(rune('A'+i))], b[string(rune('A'+39-i))] = "x", "x"
	}
	require.Equal(t, Pairs(nil, a), Pairs(nil, b))
	require.Equal(t, Resources(nil, nil), Resources(nil, v1.ResourceList{}))
	require.Equal(t, Controller(nil, &v1.Pod{}), Controller(nil, &v1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "A"}}}}))
}

// TestNoAllocation checks that writing small maps does not allocate.
func TestNoAllocation(t *testing.T) {
	dst := make([]byte, 0, 1024)
	m := map[string]string{"a": "b", "c": "d", "e": "f"}
	list := v1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("1Gi")}
	require.Zero(t, testing.AllocsPerRun(100, func() { dst = Resources(Pairs(dst[:0], m), list) }))
}
