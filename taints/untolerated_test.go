package taints

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// The first hard taint that no toleration tolerates, -1 without one.
func TestUntolerated(t *testing.T) {
	taint := func(key string, effect v1.TaintEffect) v1.Taint { return v1.Taint{Key: key, Effect: effect} }
	e := Compile([]v1.Toleration{{Key: "a", Operator: v1.TolerationOpExists}}, Options{})
	for want, list := range map[int][]v1.Taint{
		-1: {taint("a", v1.TaintEffectNoSchedule), taint("b", v1.TaintEffectPreferNoSchedule)},
		0:  {taint("b", v1.TaintEffectNoSchedule), taint("c", v1.TaintEffectNoSchedule)},
		1:  {taint("a", v1.TaintEffectNoExecute), taint("b", v1.TaintEffectNoExecute)},
	} {
		require.Equal(t, want, e.untolerated(list))
	}
}
