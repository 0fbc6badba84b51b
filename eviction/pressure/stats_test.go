package pressure

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

func TestSignals(t *testing.T) {
	for _, tc := range []struct {
		signal    Signal
		word      string
		condition v1.NodeConditionType
		printed   string // of 1024
	}{
		{memoryAvailable, "memory", v1.NodeMemoryPressure, "1Ki"},
		{allocatableMemoryAvailable, "memory", v1.NodeMemoryPressure, "1Ki"},
		{nodeFsAvailable, "ephemeral-storage", v1.NodeDiskPressure, "1Ki"},
		{nodeFsInodesFree, "inodes", v1.NodeDiskPressure, "1024"},
		{imageFsAvailable, "ephemeral-storage", v1.NodeDiskPressure, "1Ki"},
		{imageFsInodesFree, "inodes", v1.NodeDiskPressure, "1024"},
		{containerFsAvailable, "ephemeral-storage", v1.NodeDiskPressure, "1Ki"},
		{containerFsInodesFree, "inodes", v1.NodeDiskPressure, "1024"},
		{pidAvailable, "pids", v1.NodePIDPressure, "1024"},
		{"cpu.available", "", "", "1Ki"},
	} {
		t.Run(string(tc.signal), func(t *testing.T) {
			require.Equal(t, tc.word, tc.signal.Resource())
			require.Equal(t, tc.condition, tc.signal.condition())
			require.Equal(t, tc.word != "", tc.signal.known())
			q := tc.signal.Quantity(1024)
			require.Equal(t, tc.printed, q.String())
		})
	}
	require.Len(t, Signals(), 9)
}

func TestMeasure(t *testing.T) {
	i := func(v int64) *int64 { return &v }
	at := since(7)
	got := Measure(NodeStats{
		Memory:      &MemoryStats{Time: at, AvailableBytes: n(3), WorkingSetBytes: n(7)},
		PodsMemory:  &MemoryStats{WorkingSetBytes: n(7)},
		NodeFs:      &FsStats{Time: at, AvailableBytes: n(1), CapacityBytes: n(2), InodesFree: n(3), Inodes: n(4)},
		ImageFs:     &FsStats{AvailableBytes: n(1), InodesFree: n(3), Inodes: n(4)},
		ContainerFs: &FsStats{AvailableBytes: n(5), CapacityBytes: n(6)},
		Processes:   &ProcessStats{Time: at, Max: i(100), Running: i(130)},
	})
	require.Equal(t, map[Signal]Measurement{
		memoryAvailable:      {Available: 3, Capacity: 10, Time: at},
		nodeFsAvailable:      {Available: 1, Capacity: 2, Time: at},
		nodeFsInodesFree:     {Available: 3, Capacity: 4, Time: at},
		imageFsInodesFree:    {Available: 3, Capacity: 4},
		containerFsAvailable: {Available: 5, Capacity: 6},
		pidAvailable:         {Available: -30, Capacity: 100, Time: at},
	}, got, "a signal with an unknown number is missing, not zero")
	require.Empty(t, Measure(NodeStats{}))
	require.Empty(t, Measure(NodeStats{Memory: &MemoryStats{}, NodeFs: &FsStats{}, Processes: &ProcessStats{Max: i(1)}}))
}

// The numbers of the documentation's script: capacity from /proc/meminfo, usage and inactive file pages from the root
// cgroup.
func TestCgroupMemory(t *testing.T) {
	const meminfoKiB = 16374584
	c := CgroupMemory(meminfoKiB*1024, 5<<30, 2<<30, since(1))
	m := Measure(NodeStats{Memory: c})[memoryAvailable]
	require.Equal(t, Measurement{Available: meminfoKiB*1024 - 3<<30, Capacity: meminfoKiB * 1024, Time: since(1)}, m)

	over := CgroupMemory(100, 300, 50, epoch)
	require.Equal(t, []uint64{0, 250}, []uint64{*over.AvailableBytes, *over.WorkingSetBytes}, "usage above the limit leaves 0 available")
	cached := CgroupMemory(100, 30, 50, epoch)
	require.Equal(t, []uint64{100, 0}, []uint64{*cached.AvailableBytes, *cached.WorkingSetBytes})
	unlimited := CgroupMemory(1<<62+1, 1, 0, epoch)
	require.Nil(t, unlimited.AvailableBytes, "no limit: nothing is available, so the signal is missing")
	require.NotNil(t, CgroupMemory(1<<62, 0, 0, epoch).AvailableBytes)
}

func TestProcesses(t *testing.T) {
	const loadavg = "0.52 0.58 0.59 3/1187 42171\n"
	for max, threads := range map[int64]int64{32768: 127421, 100: 100} {
		p, err := Processes(32768, threads, loadavg, since(1))
		require.NoError(t, err)
		require.Equal(t, ProcessStats{since(1), ptr(max), ptr(int64(1187))}, *p)
	}
	p, err := Processes(1, 1, "1 2 3 4/9223372036854775807", epoch)
	require.NoError(t, err)
	require.EqualValues(t, math.MaxInt64, *p.Running)
	require.Equal(t, []int64{0, math.MaxInt64, math.MaxInt64, math.MaxInt64}, []int64{signed(0), signed(math.MaxInt64), signed(math.MaxInt64 + 1), signed(math.MaxUint64)})
	p, err = Processes(1, 1, "1 2 3 4/5", epoch)
	require.NoError(t, err)
	require.EqualValues(t, 5, *p.Running, "four fields suffice")
	for text, want := range map[string]string{"": `loadavg "": must have at least four fields`, "1 2 3": `loadavg "1 2 3": must have at least four fields`,
		"1 2 3 4 5":   `loadavg "1 2 3 4 5": the fourth field must be running/all`,
		"1 2 3 4/x 5": `loadavg "1 2 3 4/x 5": strconv.ParseInt: parsing "x": invalid syntax`} {
		_, err := Processes(1, 1, text, epoch)
		require.EqualError(t, err, want)
		running, err := runningProcesses(text)
		require.Error(t, err)
		require.Zero(t, running)
	}
}

func TestLayout(t *testing.T) {
	require.Equal(t, singleFilesystem, DetectLayout("sda", "sda", "sda"))
	require.Equal(t, dedicatedImages, DetectLayout("sda", "sdb", "sdb"))
	require.Equal(t, splitImages, DetectLayout("sda", "sdb", "sda"))

	both := []string{deadContainers, unusedImages}
	for layout, want := range map[Layout][3][]string{
		singleFilesystem: {both, both, both},
		dedicatedImages:  {nil, both, both},
		splitImages:      {{deadContainers}, {unusedImages}, {deadContainers}},
	} {
		t.Run(string(layout), func(t *testing.T) {
			for k, pair := range [][2]Signal{{nodeFsAvailable, nodeFsInodesFree}, {imageFsAvailable, imageFsInodesFree}, {containerFsAvailable, containerFsInodesFree}} {
				require.Equal(t, want[k], Reclaims(pair[0], layout))
				require.Equal(t, want[k], Reclaims(pair[1], layout))
			}
			require.Empty(t, Reclaims(memoryAvailable, layout))
			require.Empty(t, Reclaims(pidAvailable, layout))
		})
	}
}
