package pressure_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/pressure"
)

func TestSignals(t *testing.T) {
	for _, tc := range []struct {
		signal    pressure.Signal
		word      string
		condition v1.NodeConditionType
		printed   string // of 1024
	}{
		{pressure.MemoryAvailable, "memory", v1.NodeMemoryPressure, "1Ki"},
		{pressure.AllocatableMemoryAvailable, "memory", v1.NodeMemoryPressure, "1Ki"},
		{pressure.NodeFsAvailable, "ephemeral-storage", v1.NodeDiskPressure, "1Ki"},
		{pressure.NodeFsInodesFree, "inodes", v1.NodeDiskPressure, "1024"},
		{pressure.ImageFsAvailable, "ephemeral-storage", v1.NodeDiskPressure, "1Ki"},
		{pressure.ImageFsInodesFree, "inodes", v1.NodeDiskPressure, "1024"},
		{pressure.ContainerFsAvailable, "ephemeral-storage", v1.NodeDiskPressure, "1Ki"},
		{pressure.ContainerFsInodesFree, "inodes", v1.NodeDiskPressure, "1024"},
		{pressure.PIDAvailable, "pids", v1.NodePIDPressure, "1024"},
		{"cpu.available", "", "", "1Ki"},
	} {
		t.Run(string(tc.signal), func(t *testing.T) {
			require.Equal(t, tc.word, tc.signal.Resource())
			require.Equal(t, tc.condition, tc.signal.Condition())
			require.Equal(t, tc.word != "", tc.signal.Known())
			q := tc.signal.Quantity(1024)
			require.Equal(t, tc.printed, q.String())
		})
	}
	require.Len(t, pressure.Signals(), 9)
}

func TestMeasure(t *testing.T) {
	i := func(v int64) *int64 { return &v }
	at := seconds(7)
	got := pressure.Measure(pressure.NodeStats{
		Memory:      &pressure.MemoryStats{Time: at, AvailableBytes: n(3), WorkingSetBytes: n(7)},
		PodsMemory:  &pressure.MemoryStats{WorkingSetBytes: n(7)},
		NodeFs:      &pressure.FsStats{Time: at, AvailableBytes: n(1), CapacityBytes: n(2), InodesFree: n(3), Inodes: n(4)},
		ImageFs:     &pressure.FsStats{AvailableBytes: n(1), InodesFree: n(3), Inodes: n(4)},
		ContainerFs: &pressure.FsStats{AvailableBytes: n(5), CapacityBytes: n(6)},
		Processes:   &pressure.ProcessStats{Time: at, Max: i(100), Running: i(130)},
	})
	require.Equal(t, map[pressure.Signal]pressure.Measurement{
		pressure.MemoryAvailable:      {Available: 3, Capacity: 10, Time: at},
		pressure.NodeFsAvailable:      {Available: 1, Capacity: 2, Time: at},
		pressure.NodeFsInodesFree:     {Available: 3, Capacity: 4, Time: at},
		pressure.ImageFsInodesFree:    {Available: 3, Capacity: 4},
		pressure.ContainerFsAvailable: {Available: 5, Capacity: 6},
		pressure.PIDAvailable:         {Available: -30, Capacity: 100, Time: at},
	}, got, "a signal of which a number is unknown is missing, not zero")
	require.Empty(t, pressure.Measure(pressure.NodeStats{}))
	require.Empty(t, pressure.Measure(pressure.NodeStats{Memory: &pressure.MemoryStats{}, NodeFs: &pressure.FsStats{}, Processes: &pressure.ProcessStats{Max: i(1)}}))
}

// The numbers of the documentation's script: capacity from /proc/meminfo, usage and inactive file pages of the root cgroup.
func TestCgroupMemory(t *testing.T) {
	const meminfoKiB = 16374584
	c := pressure.CgroupMemory{LimitBytes: meminfoKiB * 1024, UsageBytes: 5 << 30, InactiveFileBytes: 2 << 30, Time: seconds(1)}
	m := pressure.Measure(pressure.NodeStats{Memory: c.Stats()})[pressure.MemoryAvailable]
	require.Equal(t, pressure.Measurement{Available: meminfoKiB*1024 - 3<<30, Capacity: meminfoKiB * 1024, Time: seconds(1)}, m)

	over := pressure.CgroupMemory{LimitBytes: 100, UsageBytes: 300, InactiveFileBytes: 50}.Stats()
	require.Equal(t, []uint64{0, 250}, []uint64{*over.AvailableBytes, *over.WorkingSetBytes}, "more than the limit leaves nothing")
	cached := pressure.CgroupMemory{LimitBytes: 100, UsageBytes: 30, InactiveFileBytes: 50}.Stats()
	require.Equal(t, []uint64{100, 0}, []uint64{*cached.AvailableBytes, *cached.WorkingSetBytes})
	unlimited := pressure.CgroupMemory{LimitBytes: 1<<62 + 1, UsageBytes: 1}.Stats()
	require.Nil(t, unlimited.AvailableBytes, "no limit: nothing is available, so the signal is missing")
	require.NotNil(t, pressure.CgroupMemory{LimitBytes: 1 << 62}.Stats().AvailableBytes)
}

func TestProcesses(t *testing.T) {
	require.Equal(t, int64(32768), pressure.MaxProcesses(32768, 127421))
	require.Equal(t, int64(100), pressure.MaxProcesses(32768, 100))
	running, err := pressure.RunningProcesses("0.52 0.58 0.59 3/1187 42171\n")
	require.NoError(t, err)
	require.Equal(t, int64(1187), running)
	for _, text := range []string{"", "1 2 3", "1 2 3 4 5", "1 2 3 4/x 5"} {
		_, err := pressure.RunningProcesses(text)
		require.ErrorContains(t, err, "loadavg")
	}
}

func TestLayout(t *testing.T) {
	require.Equal(t, pressure.Single, pressure.DetectLayout("sda", "sda", "sda"))
	require.Equal(t, pressure.DedicatedImages, pressure.DetectLayout("sda", "sdb", "sdb"))
	require.Equal(t, pressure.SplitImages, pressure.DetectLayout("sda", "sdb", "sda"))

	both := []pressure.Reclaim{pressure.DeadContainers, pressure.UnusedImages}
	for layout, want := range map[pressure.Layout][3][]pressure.Reclaim{
		pressure.Single:          {both, both, both},
		pressure.DedicatedImages: {nil, both, both},
		pressure.SplitImages:     {{pressure.DeadContainers}, {pressure.UnusedImages}, {pressure.DeadContainers}},
	} {
		t.Run(string(layout), func(t *testing.T) {
			for k, pair := range [][2]pressure.Signal{{pressure.NodeFsAvailable, pressure.NodeFsInodesFree}, {pressure.ImageFsAvailable, pressure.ImageFsInodesFree}, {pressure.ContainerFsAvailable, pressure.ContainerFsInodesFree}} {
				require.Equal(t, want[k], pressure.Reclaims(pair[0], layout))
				require.Equal(t, want[k], pressure.Reclaims(pair[1], layout))
			}
			require.Empty(t, pressure.Reclaims(pressure.MemoryAvailable, layout))
			require.Empty(t, pressure.Reclaims(pressure.PIDAvailable, layout))
		})
	}
}
