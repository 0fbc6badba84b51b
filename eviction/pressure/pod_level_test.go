package pressure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
)

// The message names a pod-level request even when the pod uses less. A pod-level request also replaces the
// ephemeral-storage requests of the containers.
func TestPodLevelRequest(t *testing.T) {
	used, disk, none := uint64(100<<20), uint64(60<<20), uint64(0)
	p := testkit.Pod("n/whole").Request("ephemeral-storage=100Mi").Obj()
	p.Spec.Resources = &v1.ResourceRequirements{Requests: testkit.Resources("memory=500Mi")}
	stats := map[types.UID]PodStats{p.UID: {WorkingSetBytes: &used,
		Containers: []ContainerStats{{Name: p.Spec.Containers[0].Name, Rootfs: FsUsage{UsedBytes: &disk}, Logs: FsUsage{UsedBytes: &none}}}}}
	policy, err := Compile(Config{EvictionHard: map[string]string{"memory.available": "1Gi"}}, Options{})
	require.NoError(t, err)
	_, d := policy.Observe(State{}, Observation{Signals: map[Signal]Measurement{memoryAvailable: {Available: 1, Capacity: 10 << 30}},
		Layout: singleFilesystem, Pods: []*v1.Pod{p}, Stats: stats}, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	require.Equal(t, "The node was low on resource: memory. Threshold quantity: 1Gi, available: 1. Pod whole was using 100Mi, request is 500Mi, has larger consumption of memory. ", d.Eviction.Message)
	require.Equal(t, "whole", d.Eviction.Annotations[offendingPod])

	r := Rank(nodeFsAvailable, singleFilesystem, []*v1.Pod{p}, stats, Options{})[0]
	require.Equal(t, []any{int64(60 << 20), int64(0), true}, []any{r.Usage, r.Request, r.Exceeds})
	p.Spec.Resources = nil
	r = Rank(nodeFsAvailable, singleFilesystem, []*v1.Pod{p}, stats, Options{})[0]
	require.Equal(t, []any{int64(60 << 20), int64(100 << 20), false}, []any{r.Usage, r.Request, r.Exceeds})
}

// A soft threshold with a grace of 0s is hard. When nodefs has two hard thresholds, the writable layers take the soft
// setting.
func TestWritableLayersOfTwoHardThresholds(t *testing.T) {
	p, err := Compile(Config{EvictionHard: map[string]string{"nodefs.available": "15%"}, EvictionSoft: map[string]string{"nodefs.available": "1Gi"},
		EvictionSoftGracePeriod: map[string]string{"nodefs.available": "0s"}}, Options{})
	require.NoError(t, err)
	var got []string
	for _, x := range p.Thresholds(singleFilesystem) {
		got = append(got, x.String())
	}
	require.Equal(t, []string{"nodefs.available<1Gi", "nodefs.available<15%", "containerfs.available<1Gi"}, got)
}
