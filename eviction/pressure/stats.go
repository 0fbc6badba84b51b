package pressure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/podberth/podberth/resources"
)

// Measurement is a signal at a moment: how much is available, of how much. Bytes, inodes or processes.
type Measurement struct {
	Available int64
	Capacity  int64
	Time      time.Time // zero: unknown, always new
}

// NodeStats is what a kubelet measures on its node; the parts and numbers that it does not know are nil. The names are
// those of the stats summary API.
type NodeStats struct {
	Memory      *MemoryStats // of the root cgroup
	PodsMemory  *MemoryStats // of the cgroup that holds all pods: the system container "pods"
	NodeFs      *FsStats     // file system of the kubelet's root directory
	ImageFs     *FsStats     // file system of images
	ContainerFs *FsStats     // file system of writable layers
	Processes   *ProcessStats
}

// MemoryStats is the memory of a cgroup in bytes. Its capacity is AvailableBytes + WorkingSetBytes. On Windows the working
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
	Max     *int64 // see MaxProcesses
	Running *int64
}

// Measure returns the signals of which all numbers are known; the others are missing, which is not zero.
func Measure(n NodeStats) map[Signal]Measurement {
	m := map[Signal]Measurement{}
	for signal, s := range map[Signal]*MemoryStats{MemoryAvailable: n.Memory, AllocatableMemoryAvailable: n.PodsMemory} {
		if s != nil && s.AvailableBytes != nil && s.WorkingSetBytes != nil {
			available := signed(*s.AvailableBytes)
			m[signal] = Measurement{available, resources.Add(available, signed(*s.WorkingSetBytes)), s.Time}
		}
	}
	for _, f := range []struct {
		bytes, inodes Signal
		stats         *FsStats
	}{
		{NodeFsAvailable, NodeFsInodesFree, n.NodeFs},
		{ImageFsAvailable, ImageFsInodesFree, n.ImageFs},
		{ContainerFsAvailable, ContainerFsInodesFree, n.ContainerFs},
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
		m[PIDAvailable] = Measurement{*p.Max - *p.Running, *p.Max, p.Time}
	}
	return m
}

// CgroupMemory is a memory cgroup as the kernel shows it.
type CgroupMemory struct {
	Time              time.Time
	LimitBytes        uint64 // of the cgroup; for the root, MemTotal of /proc/meminfo. Above 2^62: no limit
	UsageBytes        uint64 // memory.usage_in_bytes, memory.current
	InactiveFileBytes uint64 // total_inactive_file, inactive_file of memory.stat
}

// noLimit is the size from which on a limit is none.
const noLimit = 1 << 62

// Stats returns the working set, usage without inactive file pages, and what is left of the limit. Active file pages count
// as used, though the kernel could reclaim them. Where kubelets subtract without a sign, less than nothing is 0 here.
func (c CgroupMemory) Stats() *MemoryStats {
	set := c.UsageBytes - min(c.UsageBytes, c.InactiveFileBytes)
	m := &MemoryStats{Time: c.Time, WorkingSetBytes: &set}
	if c.LimitBytes <= noLimit {
		left := c.LimitBytes - min(c.LimitBytes, set)
		m.AvailableBytes = &left
	}
	return m
}

// MaxProcesses returns how many processes and threads the node can have: the smaller of kernel.pid_max and
// kernel.threads-max.
func MaxProcesses(pidMax, threadsMax int64) int64 { return min(pidMax, threadsMax) }

// RunningProcesses reads the number of processes and threads from the text of /proc/loadavg: its fourth field, after the
// slash.
func RunningProcesses(loadavg string) (int64, error) {
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

// Layout says on which file systems images and writable layers are. The empty layout is not known yet.
type Layout string

// The layouts.
const (
	Single          Layout = "single"       // one file system for everything
	DedicatedImages Layout = "imagefs"      // images and writable layers together on their own
	SplitImages     Layout = "split"        // images on their own, writable layers with nodefs
	Inconsistent    Layout = "inconsistent" // writable layers apart from images that are with nodefs: treated as Single, without containerfs
)

// DetectLayout compares the devices of the kubelet's root directory, of the images and of the writable layers.
func DetectLayout(root, images, layers string) Layout {
	switch {
	case images != layers:
		return SplitImages
	case images != root:
		return DedicatedImages
	}
	return Single
}

// containerSource is the signal whose threshold holds for writable layers.
func (l Layout) containerSource() Signal {
	switch l {
	case Single, SplitImages:
		return NodeFsAvailable
	case DedicatedImages:
		return ImageFsAvailable
	}
	return ""
}

// Reclaim is something that the kubelet does before it evicts a pod.
type Reclaim string

// What can be reclaimed at node level.
const (
	DeadContainers Reclaim = "containerGC" // delete dead containers
	UnusedImages   Reclaim = "imageGC"     // delete unused images
)

// Reclaims returns what is reclaimed for a signal before pods are evicted, in order; nothing for memory and processes.
func Reclaims(s Signal, l Layout) []Reclaim {
	both := []Reclaim{DeadContainers, UnusedImages}
	switch s {
	case NodeFsAvailable, NodeFsInodesFree:
		switch l {
		case DedicatedImages:
			return nil
		case SplitImages:
			return both[:1]
		}
		return both
	case ImageFsAvailable, ImageFsInodesFree:
		if l == SplitImages {
			return both[1:]
		}
		return both
	case ContainerFsAvailable, ContainerFsInodesFree:
		if l == SplitImages {
			return both[:1]
		}
		return both
	}
	return nil
}

// signed converts and saturates.
func signed(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
