package devices_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/testkit"
)

// Of two complete generations of a pool the newer counts, whatever the order of the slices: its device is given, and those of the older are
// gone.
func TestNewerGenerationCounts(t *testing.T) {
	older := change(gpus("n1"), func(s *resourcev1.ResourceSliceSpec) { s.Pool.Generation = 1 })
	newer := change(gpus("n1"), func(s *resourcev1.ResourceSliceSpec) {
		s.Pool.Generation, s.Devices = 2, []resourcev1.Device{{Name: "new-0"}}
	})
	newer.Name = "newer"
	node := testkit.Node("n1").Obj()
	for _, slices := range [][]*resourcev1.ResourceSlice{{older, newer}, {newer, older}} {
		allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(slices)), class, nil, devices.Options{})
		got, ok, err := allocator.Compile(gpuClaim("web", 1)).Allocate(node)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, "new-0", got[0].Devices.Results[0].Device)
		_, ok, err = allocator.Compile(gpuClaim("web", 2)).Allocate(node)
		require.NoError(t, err)
		require.False(t, ok)
	}
}
