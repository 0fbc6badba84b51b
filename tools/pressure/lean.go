package pressure

import stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

// The functions of this file copy of a summary what summary.go reads.

func leanNode(n *stats.NodeStats) stats.NodeStats {
	out := stats.NodeStats{NodeName: n.NodeName, StartTime: n.StartTime, Memory: leanMemory(n.Memory), Fs: n.Fs, Rlimit: n.Rlimit}
	for _, c := range n.SystemContainers {
		if c.Name == podsContainer {
			out.SystemContainers = append(out.SystemContainers, stats.ContainerStats{Name: c.Name, StartTime: c.StartTime, Memory: leanMemory(c.Memory)})
		}
	}
	if n.Runtime != nil {
		out.Runtime = &stats.RuntimeStats{ImageFs: n.Runtime.ImageFs, ContainerFs: n.Runtime.ContainerFs}
	}
	return out
}

func leanPod(p *stats.PodStats) stats.PodStats {
	out := stats.PodStats{PodRef: p.PodRef, StartTime: p.StartTime, Memory: leanMemory(p.Memory), ProcessStats: p.ProcessStats, EphemeralStorage: p.EphemeralStorage}
	for _, c := range p.Containers {
		out.Containers = append(out.Containers, stats.ContainerStats{Name: c.Name, StartTime: c.StartTime, Memory: leanMemory(c.Memory), Rootfs: leanUsage(c.Rootfs), Logs: leanUsage(c.Logs)})
	}
	for i := range p.VolumeStats {
		out.VolumeStats = append(out.VolumeStats, stats.VolumeStats{Name: p.VolumeStats[i].Name, FsStats: *leanUsage(&p.VolumeStats[i].FsStats)})
	}
	return out
}

func leanMemory(m *stats.MemoryStats) *stats.MemoryStats {
	if m == nil {
		return nil
	}
	return &stats.MemoryStats{Time: m.Time, AvailableBytes: m.AvailableBytes, WorkingSetBytes: m.WorkingSetBytes}
}

// leanUsage leaves out how large the file system below is.
func leanUsage(f *stats.FsStats) *stats.FsStats {
	if f == nil {
		return nil
	}
	return &stats.FsStats{Time: f.Time, UsedBytes: f.UsedBytes, InodesUsed: f.InodesUsed}
}
