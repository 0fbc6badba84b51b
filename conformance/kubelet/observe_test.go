package kubelet_test

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/eviction/pressure"
)

const gi = 1 << 30

// config draws settings and parses them on both sides.
func (n *node) config() (pressure.Config, []evictionapi.Threshold, error) {
	c := pressure.Config{EvictionHard: map[string]string{}, EvictionSoft: map[string]string{}, EvictionSoftGracePeriod: map[string]string{}, EvictionMinimumReclaim: map[string]string{},
		EvictionMaxPodGracePeriod:        trial.Pick(n.Source, int32(0), 5, 60, -1),
		EvictionPressureTransitionPeriod: trial.Pick(n.Source, 5*time.Minute, 30*time.Second, time.Second, 10*time.Second),
		IgnoreLocalStorage:               n.Once(5)}
	if n.N(3) > 0 {
		c.EnforceNodeAllocatable = []string{"pods"}
	}
	many := n.Once(2)
	for _, s := range pressure.Signals() {
		if n.layout == "inconsistent" && strings.HasPrefix(string(s), "containerfs.") { // the kubelet accepts them in that layout, which does not exist on a real node
			continue
		}
		if s == "allocatableMemory.available" && c.EnforceNodeAllocatable != nil { // equal to the copy except for its reclaim, it would share the memory of the copy
			continue
		}
		values := []string{"1Gi", "10%", "500Mi", "5%", "15%", "1073741825", "0%"}
		switch s.Resource() {
		case "inodes", "pids":
			values = []string{"1k", "10%", "5%", "1000", "0.07%", "100%"}
		}
		if n.Once(2) && (many || n.Once(3)) {
			c.EvictionHard[string(s)] = trial.Pick(n.Source, values...)
		}
		if n.Once(4) {
			c.EvictionSoft[string(s)] = trial.Pick(n.Source, values...)
			c.EvictionSoftGracePeriod[string(s)] = trial.Pick(n.Source, "30s", "10s", "0s", "1m", "5s")
			if strings.HasPrefix(string(s), "containerfs.") { // it would be one of two hard thresholds, and the kubelet replaces only one of them
				c.EvictionSoftGracePeriod[string(s)] = "30s"
			}
		}
		if n.Once(4) {
			c.EvictionMinimumReclaim[string(s)] = trial.Pick(n.Source, "500Mi", "5%", "0", "10", "100")
		}
	}
	n.policyGrace = func(t pressure.Threshold, pod *v1.Pod) int64 {
		p, err := pressure.Compile(c, pressure.Options{Release: trial.Linked})
		if err != nil {
			panic(err)
		}
		return graceSeconds(p, t, pod)
	}
	n.Note("layout %s, hard %v, soft %v, grace %v, reclaim %v, max grace %d, transition %v, allocatable %v", n.layout, c.EvictionHard, c.EvictionSoft, c.EvictionSoftGracePeriod,
		c.EvictionMinimumReclaim, c.EvictionMaxPodGracePeriod, c.EvictionPressureTransitionPeriod, c.EnforceNodeAllocatable)
	list, err := eviction.ParseThresholdConfig(c.EnforceNodeAllocatable, c.EvictionHard, c.EvictionSoft, c.EvictionSoftGracePeriod, c.EvictionMinimumReclaim)
	return c, list, err
}

// bytes returns an amount near one of the thresholds of a capacity.
func (n *node) near(capacity uint64) *uint64 {
	if n.Once(16) {
		return nil
	}
	v := trial.Pick(n.Source, capacity/2, capacity/2, capacity/10, capacity/10-1, capacity/10+1, capacity/20, capacity/20-1, gi, gi-1, gi+1, gi+500<<20, gi+500<<20-1, 1000, 999, 1100, 1099, 0, capacity)
	v = min(v, capacity)
	return &v
}

// stats returns new measurements. A number or a whole part may be missing, and a time may be old or missing.
func (n *node) stats(old pressure.NodeStats) pressure.NodeStats {
	now := time.Now().Truncate(time.Second)
	out := pressure.NodeStats{Memory: n.memory(now), PodsMemory: n.memory(now), NodeFs: n.fs(now), ImageFs: n.fs(now), ContainerFs: n.fs(now)}
	if n.N(16) > 0 {
		limit, used := n.processes(), int64(0)
		if limit != nil {
			used = *limit - int64(*n.nearOr(uint64(*limit)))
		}
		out.Processes = &pressure.ProcessStats{Time: now, Max: limit, Running: &used}
		if n.Once(16) {
			out.Processes.Running = nil
		}
	}
	// A part that was measured before may come again.
	if n.Once(4) && old.Memory != nil {
		out.Memory = old.Memory
	}
	if n.Once(4) && old.NodeFs != nil {
		out.NodeFs = old.NodeFs
	}
	if n.Once(6) {
		out.ImageFs, out.Processes = old.ImageFs, old.Processes
	}
	return out
}

// processes returns the largest number of processes, which is sometimes missing.
func (n *node) processes() *int64 {
	if n.Once(16) {
		return nil
	}
	v := int64(10000)
	return &v
}

func (n *node) nearOr(capacity uint64) *uint64 {
	if v := n.near(capacity); v != nil {
		return v
	}
	return &capacity
}

func (n *node) time(now time.Time) time.Time {
	if n.Once(20) {
		return time.Time{}
	}
	return now
}

func (n *node) memory(now time.Time) *pressure.MemoryStats {
	if n.Once(20) {
		return nil
	}
	const capacity = 10 * gi
	m := &pressure.MemoryStats{Time: n.time(now), AvailableBytes: n.near(capacity)}
	if m.AvailableBytes != nil && n.N(16) > 0 {
		used := capacity - *m.AvailableBytes
		m.WorkingSetBytes = &used
	}
	return m
}

func (n *node) fs(now time.Time) *pressure.FsStats {
	if n.Once(20) {
		return nil
	}
	size, inodes := uint64(100*gi), uint64(20000)
	f := &pressure.FsStats{Time: n.time(now), AvailableBytes: n.near(size), CapacityBytes: &size, InodesFree: n.near(inodes), Inodes: &inodes}
	if n.Once(16) {
		f.Inodes = nil
	}
	if n.Once(16) {
		f.CapacityBytes = nil
	}
	return f
}

// change adds and removes pods.
func (n *node) change() {
	for range n.N(4) {
		if len(n.pods) < 6 {
			n.pods = append(n.pods, n.pod())
		}
	}
	if len(n.pods) > 0 && n.Once(4) {
		i := n.N(len(n.pods))
		n.pods = append(n.pods[:i:i], n.pods[i+1:]...)
	}
}

func (n *node) pod() *v1.Pod {
	n.uids++
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint("p", n.uids), UID: types.UID(fmt.Sprint("u", n.uids))}}
	amounts := func() v1.ResourceList {
		out := v1.ResourceList{}
		for _, r := range []v1.ResourceName{"memory", "ephemeral-storage"} {
			if n.N(3) > 0 {
				out[r] = resource.MustParse(trial.Pick(n.Source, "100Mi", "200Mi", "50Mi", "0", "201Mi"))
			}
		}
		return out
	}
	for i := range 1 + n.N(2) {
		c := v1.Container{Name: []string{"c", "d"}[i], Resources: v1.ResourceRequirements{Requests: amounts()}}
		if n.Once(3) {
			c.Resources.Limits = amounts()
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	if n.Once(4) {
		c := v1.Container{Name: "i", Resources: v1.ResourceRequirements{Requests: amounts()}}
		if n.Once(2) {
			always := v1.ContainerRestartPolicyAlways
			c.RestartPolicy = &always
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	if n.Once(8) {
		p.Spec.Overhead = v1.ResourceList{"memory": resource.MustParse("10Mi")}
	}
	if n.Once(8) {
		p.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{"memory": resource.MustParse("500Mi")}}
	}
	if n.N(3) > 0 {
		priority := trial.Pick(n.Source, int32(0), 10, -10, 1999999999, 2000000000, 2000001000)
		p.Spec.Priority = &priority
	}
	if n.Once(12) {
		p.Annotations = map[string]string{"kubernetes.io/config.source": trial.Pick(n.Source, "file", "api")}
	}
	if n.Once(12) {
		p.Annotations = map[string]string{"kubernetes.io/config.mirror": "x"}
	}
	if n.Once(3) {
		grace := trial.Pick(n.Source, int64(30), 2, 0)
		p.Spec.TerminationGracePeriodSeconds = &grace
	}
	if n.Once(3) {
		limit := resource.MustParse(trial.Pick(n.Source, "100Mi", "0", "200Mi"))
		medium := trial.Pick(n.Source, v1.StorageMediumDefault, v1.StorageMediumMemory)
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: medium, SizeLimit: &limit}}})
	}
	if n.Once(4) {
		p.Spec.Volumes = append(p.Spec.Volumes, trial.Pick(n.Source,
			v1.Volume{Name: "w", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}}},
			v1.Volume{Name: "w", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}},
			v1.Volume{Name: "w", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}},
			v1.Volume{Name: "w", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}}))
	}
	if n.Once(10) {
		p.Spec.Tolerations = []v1.Toleration{{Key: "node.kubernetes.io/memory-pressure", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
	}
	if n.Once(10) {
		p.Status.Phase = v1.PodSucceeded
	}
	if n.N(4) == 0 {
		for i := range p.Spec.Containers {
			p.Spec.Containers[i].Resources = v1.ResourceRequirements{}
		}
	}
	n.Note("  pod %s priority %v annotations %v containers %v init %v volumes %d", p.Name, str(p.Spec.Priority), p.Annotations, resourcesOf(p.Spec.Containers), resourcesOf(p.Spec.InitContainers), len(p.Spec.Volumes))
	return p
}

func resourcesOf(list []v1.Container) (out []string) {
	for _, c := range list {
		out = append(out, c.Name+" "+str(c.RestartPolicy)+" "+show(c.Resources.Requests)+"limits "+show(c.Resources.Limits))
	}
	return out
}

func (n *node) used() *uint64 {
	if n.Once(12) {
		return nil
	}
	v := uint64(trial.Pick(n.Source, 100, 50, 0, 150, 200, 201, 300, 99)) << 20
	return &v
}

func (n *node) inodes() *uint64 {
	if n.Once(12) {
		return nil
	}
	v := uint64(trial.Pick(n.Source, 10, 0, 500, 10000))
	return &v
}

func (n *node) usage() pressure.FsUsage {
	return pressure.FsUsage{UsedBytes: n.used(), InodesUsed: n.inodes()}
}

func fsOf(u pressure.FsUsage) *statsapi.FsStats {
	return &statsapi.FsStats{UsedBytes: u.UsedBytes, InodesUsed: u.InodesUsed}
}

// summarize returns random statistics of the pods in both forms.
func (n *node) summarize(node pressure.NodeStats) (*statsapi.Summary, map[types.UID]pressure.PodStats) {
	sum := &statsapi.Summary{Node: nodeStats(node)}
	stats := map[types.UID]pressure.PodStats{}
	for _, p := range n.pods {
		if n.Once(8) {
			continue
		}
		s := pressure.PodStats{WorkingSetBytes: n.used(), EphemeralStorageUsed: n.used(), Processes: n.inodes()}
		for _, c := range append(append([]v1.Container{}, p.Spec.Containers...), p.Spec.InitContainers...) {
			if n.Once(8) {
				continue
			}
			k := pressure.ContainerStats{Name: c.Name, WorkingSetBytes: n.used(), Rootfs: n.usage(), Logs: n.usage()}
			n.Note("  container %s of %s: memory %v rootfs %v %v logs %v %v", c.Name, p.Name, str(k.WorkingSetBytes), str(k.Rootfs.UsedBytes), str(k.Rootfs.InodesUsed), str(k.Logs.UsedBytes), str(k.Logs.InodesUsed))
			s.Containers = append(s.Containers, k)
		}
		for _, v := range p.Spec.Volumes {
			u := n.usage()
			if u.UsedBytes == nil { // the kubelet would panic
				u.UsedBytes = new(uint64)
			}
			n.Note("  volume %s of %s: %d %v", v.Name, p.Name, *u.UsedBytes, str(u.InodesUsed))
			s.Volumes = append(s.Volumes, pressure.VolumeStats{Name: v.Name, FsUsage: u})
		}
		n.Note("  stats %s memory %v ephemeral %v processes %v", p.Name, str(s.WorkingSetBytes), str(s.EphemeralStorageUsed), str(s.Processes))
		stats[p.UID] = s
		sum.Pods = append(sum.Pods, podStats(p, s))
	}
	return sum, stats
}

// podStats returns the statistics in the form of the kubelet.
func podStats(p *v1.Pod, s pressure.PodStats) statsapi.PodStats {
	r := statsapi.PodStats{PodRef: statsapi.PodReference{Name: p.Name, Namespace: p.Namespace, UID: string(p.UID)},
		Memory: &statsapi.MemoryStats{WorkingSetBytes: s.WorkingSetBytes}, EphemeralStorage: &statsapi.FsStats{UsedBytes: s.EphemeralStorageUsed}, ProcessStats: &statsapi.ProcessStats{ProcessCount: s.Processes}}
	for _, c := range s.Containers {
		r.Containers = append(r.Containers, statsapi.ContainerStats{Name: c.Name, Memory: &statsapi.MemoryStats{WorkingSetBytes: c.WorkingSetBytes}, Rootfs: fsOf(c.Rootfs), Logs: fsOf(c.Logs)})
	}
	for _, v := range s.Volumes {
		r.VolumeStats = append(r.VolumeStats, statsapi.VolumeStats{Name: v.Name, FsStats: *fsOf(v.FsUsage)})
	}
	return r
}

func nodeStats(n pressure.NodeStats) statsapi.NodeStats {
	memory := func(m *pressure.MemoryStats) *statsapi.MemoryStats {
		if m == nil {
			return nil
		}
		return &statsapi.MemoryStats{Time: metav1.NewTime(m.Time), AvailableBytes: m.AvailableBytes, WorkingSetBytes: m.WorkingSetBytes}
	}
	fs := func(f *pressure.FsStats) *statsapi.FsStats {
		if f == nil {
			return nil
		}
		return &statsapi.FsStats{Time: metav1.NewTime(f.Time), AvailableBytes: f.AvailableBytes, CapacityBytes: f.CapacityBytes, InodesFree: f.InodesFree, Inodes: f.Inodes}
	}
	out := statsapi.NodeStats{Memory: memory(n.Memory), Fs: fs(n.NodeFs), Runtime: &statsapi.RuntimeStats{ImageFs: fs(n.ImageFs), ContainerFs: fs(n.ContainerFs)},
		SystemContainers: []statsapi.ContainerStats{{Name: statsapi.SystemContainerPods, Memory: memory(n.PodsMemory)}}}
	if n.Processes != nil {
		out.Rlimit = &statsapi.RlimitStats{Time: metav1.NewTime(n.Processes.Time), MaxPID: n.Processes.Max, NumOfRunningProcesses: n.Processes.Running}
	}
	return out
}
