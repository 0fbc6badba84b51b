package pressure

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/podberth/podberth/eviction/pressure"
)

// podsContainer is the system container whose memory is that of all pods.
const podsContainer = stats.SystemContainerPods

// nodeStats takes from a summary what the node's signals are made of.
func nodeStats(n *stats.NodeStats) pressure.NodeStats {
	out := pressure.NodeStats{Memory: memoryStats(n.Memory), NodeFs: fsStats(n.Fs)}
	for i := range n.SystemContainers {
		if n.SystemContainers[i].Name == podsContainer {
			out.PodsMemory = memoryStats(n.SystemContainers[i].Memory)
		}
	}
	if n.Runtime != nil {
		out.ImageFs, out.ContainerFs = fsStats(n.Runtime.ImageFs), fsStats(n.Runtime.ContainerFs)
	}
	if r := n.Rlimit; r != nil {
		out.Processes = &pressure.ProcessStats{Time: r.Time.Time, Max: r.MaxPID, Running: r.NumOfRunningProcesses}
	}
	return out
}

func memoryStats(m *stats.MemoryStats) *pressure.MemoryStats {
	if m == nil {
		return nil
	}
	return &pressure.MemoryStats{Time: m.Time.Time, AvailableBytes: m.AvailableBytes, WorkingSetBytes: m.WorkingSetBytes}
}

func fsStats(f *stats.FsStats) *pressure.FsStats {
	if f == nil {
		return nil
	}
	return &pressure.FsStats{Time: f.Time.Time, AvailableBytes: f.AvailableBytes, CapacityBytes: f.CapacityBytes, InodesFree: f.InodesFree, Inodes: f.Inodes}
}

// newest returns the time of the newest measurement, zero without any.
func newest(signals map[pressure.Signal]pressure.Measurement) (last time.Time) {
	for _, m := range signals {
		if m.Time.After(last) {
			last = m.Time
		}
	}
	return last
}

// podStats returns the statistics of the pods by UID, and the pods of the summary that are not among them.
func podStats(list []stats.PodStats, pods []*v1.Pod) (found map[types.UID]pressure.PodStats, others []string) {
	byUID, byName := map[string]*v1.Pod{}, map[string]*v1.Pod{}
	for _, p := range pods {
		byUID[string(p.UID)] = p
		if hash := p.Annotations[v1.MirrorPodAnnotationKey]; hash != "" {
			byUID[hash] = p // the kubelet knows a static pod by the hash of its manifest
		}
		byName[p.Namespace+"/"+p.Name] = p
	}
	found = map[types.UID]pressure.PodStats{}
	for i := range list {
		ref := list[i].PodRef
		name := ref.Namespace + "/" + ref.Name
		pod := byUID[ref.UID]
		if p := byName[name]; pod == nil && p != nil && (ref.UID == "" || string(p.UID) == name) {
			pod = p // one of the two objects has no UID
		}
		if pod == nil {
			others = append(others, name)
			continue
		}
		found[pod.UID] = usageOf(&list[i])
	}
	return found, others
}

func usageOf(p *stats.PodStats) pressure.PodStats {
	var out pressure.PodStats
	if p.Memory != nil {
		out.WorkingSetBytes = p.Memory.WorkingSetBytes
	}
	if p.ProcessStats != nil {
		out.Processes = p.ProcessStats.ProcessCount
	}
	if p.EphemeralStorage != nil {
		out.EphemeralStorageUsed = p.EphemeralStorage.UsedBytes
	}
	for i := range p.Containers {
		c := &p.Containers[i]
		s := pressure.ContainerStats{Name: c.Name, Rootfs: fsUsage(c.Rootfs), Logs: fsUsage(c.Logs)}
		if c.Memory != nil {
			s.WorkingSetBytes = c.Memory.WorkingSetBytes
		}
		out.Containers = append(out.Containers, s)
	}
	for i := range p.VolumeStats {
		v := &p.VolumeStats[i]
		out.Volumes = append(out.Volumes, pressure.VolumeStats{Name: v.Name, FsUsage: fsUsage(&v.FsStats)})
	}
	return out
}

func fsUsage(f *stats.FsStats) pressure.FsUsage {
	if f == nil {
		return pressure.FsUsage{}
	}
	return pressure.FsUsage{UsedBytes: f.UsedBytes, InodesUsed: f.InodesUsed}
}
