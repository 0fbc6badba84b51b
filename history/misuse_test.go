package history_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/history"
	"github.com/podberth/podberth/internal/testkit"
)

// Nil, zero and extreme arguments give an error or the zero answer, but for clusters and functions that must not be nil.
func TestMisuse(t *testing.T) {
	const cluster = "pods and clusters must not be nil"
	testkit.Misuse(t, map[string]any{
		"AbsoluteBalance":       history.AbsoluteBalance,
		"Difference":            history.Difference,
		"Events128":             history.Events128,
		"FindOldFilter":         history.FindOldFilter,
		"FreeShare":             history.FreeShare,
		"NodePreferAvoidPods":   history.NodePreferAvoidPods,
		"Profile118":            history.Profile118,
		"Registrations128":      history.Registrations128,
		"ReplacedKubeletFlags":  history.ReplacedKubeletFlags,
		"Reservoir":             history.Reservoir,
		"SelectorSpread":        history.SelectorSpread,
		"SpreadFields":          history.SpreadFields,
		"UnregisteredEvents128": history.UnregisteredEvents128,
		"VolumeVariance":        history.VolumeVariance,
		"ZeroToTen":             history.ZeroToTen,
	}, map[string]string{
		"AbsoluteBalance": cluster,
		"FreeShare":       cluster,
	}, &v1.Pod{})
}
