package podgroup

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Zero and extreme arguments give an error or the zero answer.
func TestMisuse(t *testing.T) {
	w := &world{}
	w.composite("job", "x", -5)
	w.composite("x", "job", 0)
	w.group("x", "x", 0)
	w.group("", "", 7)
	pod := member("p", "x")
	testkit.Misuse(t, map[string]any{
		"Check":               func(s Spec, g Gates) { _ = Check(&s, []*v1.Pod{pod}, []*v1.Pod{pod}, g) },
		"CompareMembers":      func(attempts int) int { return CompareMembers(Member{Pod: pod, Attempts: attempts}, Member{Pod: pod}) },
		"CompareUnits":        CompareUnits,
		"FoundText":           FoundText,
		"Join":                Join,
		"NeverPreempts":       func(s Spec, g Gates) { _ = NeverPreempts(&s, []*v1.Pod{pod}, g) },
		"NoPlacementText":     NoPlacementText,
		"Of":                  func(p v1.Pod) { _, _ = Of(&p) },
		"Placements":          func(within []int, key string) { _, _ = Placements(nodes{{}}, within, key, on(placed{pod, -1})) },
		"PodCounts":           PodCounts,
		"PostFilterErrorText": PostFilterErrorText,
		"PreemptionErrorText": PreemptionErrorText,
		"Quorum":              func() Quorum { return Quorum{-1, -1, -1} },
		"RootOf":              func(namespace, name string, g Gates) { _, _, _ = RootOf(w, namespace, name, g) },
		"ReservedFor":         func(c resourcev1.ResourceClaim, g Gates) { _ = ReservedFor(&c, pod, g) },
		"SortMembers":         func() { SortMembers([]Member{{Pod: pod}, {Pod: pod}}) },
		"Spec":                func() *Spec { return &Spec{Constraints: &Constraints{}} },
		"TreeOf":              func(namespace, name string, g Gates) { _, _ = TreeOf(w, namespace, name, g) },
		"UnitOf":              func(g Gates) { _, _, _ = UnitOf(w, pod, g) },
		"Utilization":         Utilization,
		"ValidateComposite": func(s Spec) {
			_ = ValidateComposite(&Composite{Spec: s}, nil)
		},
		"ValidateGroup": func(s Spec, claims []Claim) { _ = ValidateGroup(&Group{Spec: s, Claims: claims}, nil) },
	}, nil)
}
