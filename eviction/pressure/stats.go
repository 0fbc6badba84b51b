package pressure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/podberth/podberth/resources"
)

// Measurement is the value of a signal at a moment: the available amount and the capacity, in bytes, inodes or processes.
type Measurement struct {
	Available int64
	Capacity  int64
	Time      time.Time // zero: the time is unknown, and the measurement is always new
}

// NodeStats is what a kubelet measures on its node. Unknown parts and numbers are nil. The names are those of the stats
// summary API.
type NodeStats struct {
	Memory      *MemoryStats // of the root cgroup
	PodsMemory  *MemoryStats // of the cgroup that holds all pods: the system container "pods"
	NodeFs      *FsStats     // file system of the kubelet's root directory
	ImageFs     *FsStats     // file system of images
	ContainerFs *FsStats     // file system of writable layers
	Processes   *ProcessStats
	// HugePageBytes is the sum of the hugepages-* resources of node.status.capacity, which a kubelet of v1.37 subtracts from the
	// available memory (rule L12.1). 0 for earlier kubelets, and for the numbers of a stats summary of v1.37, which has them
	// subtracted already.
	HugePageBytes uint64
}

// MemoryStats is the memory of a cgroup in bytes. The capacity is AvailableBytes + WorkingSetBytes. On Windows the working
// set is the committed memory.
type MemoryStats struct {
	Time            time.Time
	AvailableBytes  *uint64 // nil: the cgroup has no limit
	WorkingSetBytes *uint64
}

// FsStats is a file system.
type FsStats struct {
	Time                          time.Time
	AvailableBytes, CapacityBytes *uint64
	InodesFree, Inodes            *uint64
}

// ProcessStats counts processes and threads.
type ProcessStats struct {
	Time    time.Time
	Max     *int64
	Running *int64
}

// Measure returns the signals whose numbers are all known. Other signals are missing, which is not the same as zero (rule
// E1.1).
func Measure(n NodeStats) map[Signal]Measurement {
	m := map[Signal]Measurement{}
	for signal, s := range map[Signal]*MemoryStats{memoryAvailable: n.Memory, allocatableMemoryAvailable: n.PodsMemory} {
		if s != nil && s.AvailableBytes != nil && s.WorkingSetBytes != nil {
			available := signed(*s.AvailableBytes)
			if signal == memoryAvailable {
				available = max(0, available-signed(n.HugePageBytes))
			}
			m[signal] = Measurement{available, resources.Add(available, signed(*s.WorkingSetBytes)), s.Time}
		}
	}
	for _, f := range []struct {
		bytes, inodes Signal
		stats         *FsStats
	}{
		{nodeFsAvailable, nodeFsInodesFree, n.NodeFs},
		{imageFsAvailable, imageFsInodesFree, n.ImageFs},
		{containerFsAvailable, containerFsInodesFree, n.ContainerFs},
	} {
		if f.stats == nil {
			continue
		}
		if a, c := f.stats.AvailableBytes, f.stats.CapacityBytes; a != nil && c != nil {
			m[f.bytes] = Measurement{signed(*a), signed(*c), f.stats.Time}
		}
		if a, c := f.stats.InodesFree, f.stats.Inodes; a != nil && c != nil {
			m[f.inodes] = Measurement{signed(*a), signed(*c), f.stats.Time}
		}
	}
	if p := n.Processes; p != nil && p.Max != nil && p.Running != nil {
		m[pidAvailable] = Measurement{*p.Max - *p.Running, *p.Max, p.Time}
	}
	return m
}

// noLimit is the largest limit; a larger number means that there is no limit.
const noLimit = 1 << 62

// CgroupMemory returns the memory of a cgroup from three numbers of the kernel, in bytes (rule E1.2):
//
//   - limit: the limit of the cgroup; for the root cgroup MemTotal of /proc/meminfo. Above 2^62 there is no limit.
//   - usage: memory.current, or memory.usage_in_bytes of version 1
//   - inactiveFile: inactive_file of memory.stat, or total_inactive_file of version 1
//
// The working set is usage without inactive file pages. Active file pages count as used, although the kernel could reclaim
// them. The available memory is the limit minus the working set. Both are at least 0, where the kubelet's unsigned
// subtraction wraps around.
func CgroupMemory(limit, usage, inactiveFile uint64, at time.Time) *MemoryStats {
	set := usage - min(usage, inactiveFile)
	m := &MemoryStats{Time: at, WorkingSetBytes: &set}
	if limit <= noLimit {
		left := limit - min(limit, set)
		m.AvailableBytes = &left
	}
	return m
}

// Processes returns the number of processes and threads of a node, and the largest possible number (rule E1.3). The limit
// is the smaller of kernel.pid_max and kernel.threads-max. The number is in the fourth field of /proc/loadavg, after the
// slash; a loadavg without it is an error.
func Processes(pidMax, threadsMax int64, loadavg string, at time.Time) (*ProcessStats, error) {
	most := min(pidMax, threadsMax)
	running, err := runningProcesses(loadavg)
	if err != nil {
		return nil, err
	}
	return &ProcessStats{Time: at, Max: &most, Running: &running}, nil
}

func runningProcesses(loadavg string) (int64, error) {
	fields := strings.Fields(loadavg)
	if len(fields) < 4 {
		return 0, fmt.Errorf("loadavg %q: must have at least four fields", loadavg)
	}
	_, all, ok := strings.Cut(fields[3], "/")
	if !ok {
		return 0, fmt.Errorf("loadavg %q: the fourth field must be running/all", loadavg)
	}
	n, err := strconv.ParseInt(all, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("loadavg %q: %w", loadavg, err)
	}
	return n, nil
}

// Layout says which file systems hold images and writable layers (rule E5.1):
//
//	"single"        one file system for everything
//	"imagefs"       images and writable layers together on their own
//	"split"         images on their own, writable layers with nodefs
//	"inconsistent"  writable layers apart from images that are with nodefs: treated as "single", without containerfs
//
// The empty layout is not known yet.
type Layout string

const (
	singleFilesystem Layout = "single"
	dedicatedImages  Layout = "imagefs"
	splitImages      Layout = "split"
	inconsistent     Layout = "inconsistent"
)

// DetectLayout compares the devices of the kubelet's root directory, of the images and of the writable layers.
func DetectLayout(root, images, layers string) Layout {
	switch {
	case images != layers:
		return splitImages
	case images != root:
		return dedicatedImages
	}
	return singleFilesystem
}

// containerSource returns the signal whose threshold holds for the writable layers.
func (l Layout) containerSource() Signal {
	switch l {
	case singleFilesystem, splitImages:
		return nodeFsAvailable
	case dedicatedImages:
		return imageFsAvailable
	}
	return ""
}

// What can be reclaimed at node level.
const (
	deadContainers = "containerGC"
	unusedImages   = "imageGC"
)

// Reclaims returns what the kubelet reclaims for a signal before it evicts pods, in order: "containerGC" deletes dead
// containers, "imageGC" deletes unused images. For memory and processes the kubelet reclaims nothing (rule E5.1).
func Reclaims(s Signal, l Layout) []string {
	both := []string{deadContainers, unusedImages}
	switch s {
	case nodeFsAvailable, nodeFsInodesFree:
		switch l {
		case dedicatedImages:
			return nil
		case splitImages:
			return both[:1]
		}
		return both
	case imageFsAvailable, imageFsInodesFree:
		if l == splitImages {
			return both[1:]
		}
		return both
	case containerFsAvailable, containerFsInodesFree:
		if l == splitImages {
			return both[:1]
		}
		return both
	}
	return nil
}

// signed converts to int64 and saturates.
func signed(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
