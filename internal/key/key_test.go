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
	for _, x := range append(odd, strings.Repeat("a", 127), strings.Repeat("a", 128), strings.Repeat("a", 129), strings.Repeat("a", 1<<14)) {
		add("frames", frame("", x), x)
		require.Equal(t, "before"+string(Text(nil, x)), string(frame("before", x)), "the bytes in front stay")
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
	for code := range 81 { // four names, each absent or with one of two amounts
		list := v1.ResourceList{}
		for _, name := range []v1.ResourceName{"cpu", "memory", "gpu", "disk"} {
			if code%3 > 0 {
				list[name] = *resource.NewQuantity(int64(code%3), resource.DecimalSI)
			}
			code /= 3
		}
		add("usual resources", Resources(nil, list), list)
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
	var requirements []v1.NodeSelectorRequirement
	for _, r := range expressions {
		requirements = append(requirements, v1.NodeSelectorRequirement{Key: r.Key, Operator: v1.NodeSelectorOperator(r.Operator), Values: r.Values})
	}
	var terms []v1.NodeSelectorTerm
	for _, r := range append(lists(requirements[:4]), requirements) {
		terms = append(terms, v1.NodeSelectorTerm{MatchExpressions: r}, v1.NodeSelectorTerm{MatchFields: r})
	}
	for _, list := range lists(terms) {
		add("node selectors", NodeSelector(nil, v1.NodeSelector{NodeSelectorTerms: list}), list)
	}
	for _, a := range affinities() {
		pod := &v1.Pod{Spec: v1.PodSpec{Affinity: a}}
		add("pod terms", PodTerms(nil, pod), [2]any{pod.Spec.Affinity.PodAffinity, pod.Spec.Affinity.PodAntiAffinity})
	}
	for _, c := range constraints() {
		add("constraints", Constraints(nil, &v1.Pod{Spec: v1.PodSpec{TopologySpreadConstraints: c}}), c)
	}
	owned := &v1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Name: "a", Controller: &controls}}}}
	add("constraints", Constraints(nil, owned), owned)
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

// constraints returns lists of constraints that differ in each field.
func constraints() (out [][]v1.TopologySpreadConstraint) {
	var one []v1.TopologySpreadConstraint
	for _, x := range odd[:3] {
		one = append(one, v1.TopologySpreadConstraint{TopologyKey: x, MaxSkew: 1}, v1.TopologySpreadConstraint{WhenUnsatisfiable: v1.UnsatisfiableConstraintAction(x), MaxSkew: 2},
			v1.TopologySpreadConstraint{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{x: ""}}}, v1.TopologySpreadConstraint{MatchLabelKeys: []string{x}})
		policy, minDomains := v1.NodeInclusionPolicy(x), int32(len(x))
		one = append(one, v1.TopologySpreadConstraint{NodeAffinityPolicy: &policy}, v1.TopologySpreadConstraint{NodeTaintsPolicy: &policy}, v1.TopologySpreadConstraint{MinDomains: &minDomains})
	}
	return lists(one)
}

// affinities returns affinities that differ in each field of a term, and have the term at each of the four places.
func affinities() []*v1.Affinity {
	some := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	var terms []v1.PodAffinityTerm
	for _, x := range odd {
		terms = append(terms, v1.PodAffinityTerm{TopologyKey: x}, v1.PodAffinityTerm{TopologyKey: "zone", Namespaces: []string{x}})
	}
	terms = append(terms, v1.PodAffinityTerm{LabelSelector: some}, v1.PodAffinityTerm{NamespaceSelector: some}, v1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{}})
	out := []*v1.Affinity{{}, {PodAffinity: &v1.PodAffinity{}}, {PodAntiAffinity: &v1.PodAntiAffinity{}}}
	for _, list := range lists(terms)[1:] {
		var preferred []v1.WeightedPodAffinityTerm
		for _, t := range list {
			preferred = append(preferred, v1.WeightedPodAffinityTerm{Weight: 7, PodAffinityTerm: t})
		}
		heavier := slices.Clone(preferred)
		heavier[0].Weight++
		out = append(out,
			&v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: list}},
			&v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}},
			&v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: heavier}},
			&v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: list}},
			&v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}})
	}
	return out
}

// TestEqual checks that equal values write equal bytes, whatever the order of a map.
func TestEqual(t *testing.T) {
	a, b := map[string]string{}, map[string]string{}
	for i := range 40 {
		a[string(rune('A'+i))], b[string(rune('A'+39-i))] = "x", "x"
	}
	require.Equal(t, Pairs(nil, a), Pairs(nil, b))
	require.Equal(t, Resources(nil, nil), Resources(nil, v1.ResourceList{}))
	for n := range 20 { // with names of equal and of different length; every reading of a map has another order
		list := v1.ResourceList{}
		for i := range n {
			list[v1.ResourceName(strings.Repeat("x", i%3)+string(rune('a'+i)))] = *resource.NewQuantity(int64(i), resource.DecimalSI)
		}
		want := Resources(nil, list)
		for range 20 {
			require.Equal(t, want, Resources(nil, list), "%d names", n)
		}
		for name := range list { // a list of the same length that differs in one amount
			other := maps.Clone(list)
			other[name] = resource.MustParse("77")
			require.NotEqual(t, want, Resources(nil, other), "%d names, %s", n, name)
		}
	}
	owner := func(name string, controls bool) metav1.OwnerReference {
		return metav1.OwnerReference{Kind: "ReplicaSet", Name: name, Controller: &controls}
	}
	owned := func(by ...metav1.OwnerReference) []byte {
		return Controller(nil, &v1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: by}})
	}
	require.Equal(t, owned(owner("a", true)), owned(owner("b", false), owner("a", true)), "an owner that does not control the pod does not count")
	require.Equal(t, PodTerms(nil, &v1.Pod{}), PodTerms(nil, &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{}}}), "no terms either way")
	require.Equal(t, Controller(nil, &v1.Pod{}), Controller(nil, &v1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "A"}}}}))
}

// TestForm holds the form of the bytes: a flag is 0 or 1, a length stands before what it counts, labels are in the order of
// their keys. cpu and memory stand before other resources, which are in the order of the length of their names.
func TestForm(t *testing.T) {
	require.Equal(t, "\x00\x01", string(Flag(Flag(nil, false), true)))
	require.Equal(t, "\x00\x00", string(Pairs(nil, nil)))
	require.Equal(t, "\x01\x00", string(Pairs(nil, map[string]string{})))
	require.Equal(t, "\x01\x02\x01a\x01z\x02bb\x01y", string(Pairs(nil, map[string]string{"bb": "y", "a": "z"})))
	require.Equal(t, "\x00", string(Selector(nil, nil)))
	require.Equal(t, "\x01\x00\x00\x00", string(Selector(nil, &metav1.LabelSelector{})))
	require.Equal(t, "\x00\x00", string(PodTerms(nil, &v1.Pod{})))
	require.Equal(t, "\x01\x00\x00\x00", string(PodTerms(nil, &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{PodAffinity: &v1.PodAffinity{}}}})))
	require.Equal(t, "\x00\x04", string(Quantity(nil, resource.MustParse("2"))))
	require.Equal(t, "\x01\x88'", string(Quantity(nil, resource.MustParse("2500m"))))
	require.Equal(t, "\x02\x0313n", string(Quantity(nil, resource.MustParse("13n"))))
	amounts := func(names ...v1.ResourceName) v1.ResourceList {
		list := v1.ResourceList{}
		for _, name := range names {
			list[name] = *resource.NewQuantity(1, resource.DecimalSI)
		}
		return list
	}
	require.Equal(t, "\x02\x01\x00\x02\x02\x00\x02", string(Resources(nil, amounts("memory", "cpu"))))
	require.Equal(t, "\x03\x01\x00\x02\x02\x00\x02\x00\x01z\x00\x02", string(Resources(nil, amounts("z", "memory", "cpu"))))
	require.Equal(t, "\x04\x00\x01z\x00\x02\x00\x02aa\x00\x02\x00\x02ab\x00\x02\x00\x03aaa\x00\x02", string(Resources(nil, amounts("aaa", "ab", "aa", "z"))))
}

// TestNoAllocation checks that writing small maps does not allocate.
func TestNoAllocation(t *testing.T) {
	dst := make([]byte, 0, 1024)
	m := map[string]string{"a": "b", "c": "d", "e": "f"}
	list := v1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("1Gi"), "example.com/gpu": resource.MustParse("1")}
	require.Zero(t, testing.AllocsPerRun(100, func() { dst = Resources(Pairs(dst[:0], m), list) }))
}

// The key of a pod's labels has its namespace and all labels.
func TestLabels(t *testing.T) {
	pod := func(namespace string, labels map[string]string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "any", Labels: labels}}
	}
	seen := map[string]bool{}
	for _, p := range []*v1.Pod{pod("", nil), pod("a", nil), pod("a", map[string]string{"k": "v"}), pod("a", map[string]string{"k": "w"}), pod("b", map[string]string{"k": "v"})} {
		k := string(Labels(nil, p))
		require.False(t, seen[k], "%v", p.ObjectMeta)
		seen[k] = true
		again := p.DeepCopy()
		again.Name = "other"
		require.Equal(t, "x"+k, string(Labels([]byte("x"), again)))
	}
}

// frame writes a text as a frame behind other bytes.
func frame(before, x string) []byte { return Close(append(Open([]byte(before)), x...), len(before)) }

// A writer that ends before the frame did not append: the bytes stay as they are.
func TestCloseOfNothing(t *testing.T) {
	require.Equal(t, []byte{7, 8}, Close([]byte{7, 8}, 2))
	require.Equal(t, []byte{7, 8}, Close([]byte{7, 8}, 5))
}
