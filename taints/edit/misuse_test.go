package edit

import (
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

// Nil, zero and extreme arguments give an error or the zero answer, except for nodes that must not be nil.
func TestMisuse(t *testing.T) {
	const node = "nodes must not be nil"
	testkit.Misuse(t, map[string]any{
		"Parse":              Parse,
		"ParseOne":           ParseOne,
		"AddOrUpdate":        AddOrUpdate,
		"Remove":             Remove,
		"Ready":              Ready,
		"Health":             Health,
		"MirrorConditions":   MirrorConditions,
		"Command.Apply":      Command{}.Apply,
		"HealthChange.Apply": HealthChange{}.Apply,
	}, map[string]string{
		"Ready":              node,
		"Health":             node,
		"MirrorConditions":   node,
		"Command.Apply":      node,
		"HealthChange.Apply": node,
	})
}
