package pressure

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// A node of 64Gi with 32Gi of huge pages and a working set of 20Gi.
func TestHugePagesOfReleases(t *testing.T) {
	n := func(gib uint64) *uint64 { b := gib << 30; return &b }
	stats := NodeStats{Memory: &MemoryStats{AvailableBytes: n(44), WorkingSetBytes: n(20)}, PodsMemory: &MemoryStats{AvailableBytes: n(44), WorkingSetBytes: n(20)}}
	before := Measure(stats)
	require.Equal(t, Measurement{Available: 44 << 30, Capacity: 64 << 30}, before[memoryAvailable])
	stats.HugePageBytes = 32 << 30
	after := Measure(stats)
	require.Equal(t, Measurement{Available: 12 << 30, Capacity: 32 << 30}, after[memoryAvailable], "L12.1")
	require.Equal(t, before[allocatableMemoryAvailable], after[allocatableMemoryAvailable], "the memory of the pods stays")
	stats.HugePageBytes = 60 << 30
	require.Equal(t, Measurement{Capacity: 20 << 30}, Measure(stats)[memoryAvailable], "never less than nothing")
}

// A sidecar with a limit of 1Gi uses 2Gi, a container with a limit of 4Gi uses 1Gi.
func TestSidecarLimitOfReleases(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	p := testkit.Pod("p").Limit("ephemeral-storage=4Gi").On("n1").Obj()
	p.Spec.InitContainers = []v1.Container{{Name: "s", RestartPolicy: &always, Resources: v1.ResourceRequirements{Limits: testkit.Resources("ephemeral-storage=1Gi")}}}
	use := func(gib uint64) *uint64 { b := gib << 30; return &b }
	st := PodStats{EphemeralStorageUsed: use(3), Containers: []ContainerStats{{Name: "s", Logs: FsUsage{UsedBytes: use(2)}}, {Name: "c", Logs: FsUsage{UsedBytes: use(1)}}}}
	for i, want := range []string{"", "", "", `Container s exceeded its local ephemeral storage limit "1Gi". `} {
		v := release.Versions()[i]
		require.Equal(t, want, overLimit(singleFilesystem, p, &st, v), v.String())
	}
	p.Spec.InitContainers[0].RestartPolicy = nil
	require.Empty(t, overLimit(singleFilesystem, p, &st, release.V1_37), "a plain init container has no limit of its own")
}
