package devicetaint_test

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/eviction/devicetaint"
	"github.com/podberth/podberth/internal/testkit"
)

// Zero and extreme arguments are answered; objects, and what looks them up, must not be nil.
func TestMisuse(t *testing.T) {
	const object = "objects and what looks them up must not be nil"
	claims := func(_, name string) *resourcev1.ResourceClaim { return claim(name, "d0") }
	testkit.Misuse(t, map[string]any{
		"New":       devicetaint.New,
		"Condition": devicetaint.Condition,
		"Taints": func() *devicetaint.Taints {
			return devicetaint.New([]*resourcev1.ResourceSlice{slice("s", 0, x(0))}, nil, at(0).Time)
		},
		"Eviction": func() devicetaint.Eviction { return devicetaint.Eviction{} },
	}, map[string]string{"New": object, "Taints.Eviction": object}, pod("c"), claims)
}
