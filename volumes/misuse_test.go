package volumes

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Nil, zero and extreme arguments give an error or the zero answer, but for objects that must not be nil.
func TestMisuse(t *testing.T) {
	const object = "objects must not be nil"
	testkit.Misuse(t, map[string]any{
		"BindingWouldHelp":      BindingWouldHelp,
		"Compile":               Compile,
		"Ignores":               Ignores,
		"LimitsWouldHelp":       LimitsWouldHelp,
		"List":                  func(v *v1.PersistentVolume) { List(v, v) },
		"NewLedger":             NewLedger,
		"NewUsage":              NewUsage,
		"RestrictionsWouldHelp": RestrictionsWouldHelp,
		"ZoneWouldHelp":         ZoneWouldHelp,
		"hints of claims": func(o, n *v1.PersistentVolumeClaim) {
			_, _ = BindingWouldHelp(&v1.Pod{}, o, n)
			_, _ = LimitsWouldHelp(&v1.Pod{}, o, n)
			_, _ = RestrictionsWouldHelp(&v1.Pod{}, o, n)
			_, _ = ZoneWouldHelp(&v1.Pod{}, o, n)
		},
		"hints of pods": func(o, n *v1.Pod) {
			_, _ = LimitsWouldHelp(&v1.Pod{}, o, n)
			_, _ = RestrictionsWouldHelp(&v1.Pod{}, o, n)
		},
		"Pod":    func() *Pod { return Compile(&v1.Pod{}, Objects{}, Options{}) },
		"Ledger": func() *Ledger { return NewLedger(Objects{}) },
		"Usage":  func() *Usage { return NewUsage(testkit.NewCluster(nil, nil), Objects{}) },
	}, map[string]string{
		"Compile":       object,
		"Ignores":       object,
		"Ledger.Assume": object,
		"List":          object,
		"NewUsage":      object,
	})
}
