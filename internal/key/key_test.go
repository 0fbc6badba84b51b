package key

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDistinct holds that values which differ write different bytes, also where one is a piece of the other.
func TestDistinct(t *testing.T) {
	yes, one := true, int32(1)
	pod := func(owners ...metav1.OwnerReference) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: owners}}
	}
	list := func(name v1.ResourceName, q string) v1.ResourceList {
		return v1.ResourceList{name: resource.MustParse(q)}
	}
	groups := map[string][][]byte{
		"texts": {Texts(nil, []string{"a", "b"}), Texts(nil, []string{"ab"}), Texts[string](nil, nil), Texts(nil, []string{""}),
			Texts(nil, []string{"a", "", "b"})},
		"pairs": {Pairs(nil, nil), Pairs(nil, map[string]string{}), Pairs(nil, map[string]string{"a": ""}),
			Pairs(nil, map[string]string{"": "a"}), Pairs(nil, map[string]string{"a": "", "b": ""}), Pairs(nil, map[string]string{"a": "b"})},
		"resources": {Resources(nil, nil), Resources(nil, list("cpu", "1")), Resources(nil, list("cpu", "1m")), Resources(nil, list("c", "1")),
			Resources(nil, v1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1")})},
		"selectors": {Selector(nil, nil), Selector(nil, &metav1.LabelSelector{}),
			Selector(nil, &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}),
			Selector(nil, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In", Values: []string{"b"}}}})},
		"optional": {Optional(nil, nil, func(dst []byte, n int32) []byte { return Int(dst, int64(n)) }),
			Optional(nil, &one, func(dst []byte, n int32) []byte { return Int(dst, int64(n)) })},
		"controllers": {Controller(nil, pod()), Controller(nil, pod(metav1.OwnerReference{Kind: "A", Name: "b", Controller: &yes})),
			Controller(nil, pod(metav1.OwnerReference{Kind: "Ab", Controller: &yes}))},
	}
	for name, group := range groups {
		seen := map[string]bool{}
		for _, b := range group {
			require.False(t, seen[string(b)], "%s: %q", name, b)
			seen[string(b)] = true
		}
	}
}

// TestEqual holds that equal values write equal bytes, whatever the order of a map.
func TestEqual(t *testing.T) {
	a, b := map[string]string{}, map[string]string{}
	for i := range 40 {
		a[string(rune('A'+i))], b[string(rune('A'+39-i))] = "x", "x"
	}
	require.Equal(t, Pairs(nil, a), Pairs(nil, b))
	require.Equal(t, Resources(nil, nil), Resources(nil, v1.ResourceList{}))
	require.Equal(t, Controller(nil, &v1.Pod{}), Controller(nil, &v1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "A"}}}}))
}

// TestNoAllocation holds that writing small maps does not allocate.
func TestNoAllocation(t *testing.T) {
	dst := make([]byte, 0, 1024)
	m := map[string]string{"a": "b", "c": "d", "e": "f"}
	list := v1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("1Gi")}
	require.Zero(t, testing.AllocsPerRun(100, func() { dst = Resources(Pairs(dst[:0], m), list) }))
}
