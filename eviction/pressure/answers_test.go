package pressure

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// chooser makes random nodes.
type chooser struct{ *rand.Rand }

func (c chooser) one(in int) bool { return c.Intn(in) == 0 }

func pick[T any](c chooser, list ...T) T { return list[c.Intn(len(list))] }

// amounts has a request or limit of memory and ephemeral storage.
func (c chooser) amounts() v1.ResourceList {
	return testkit.Resources(pick(c, "", "", "memory=50Mi", "memory=100Mi,ephemeral-storage=60Mi", "ephemeral-storage=10Mi,cpu=1", "cpu=500m,memory=20Mi", "memory=0,ephemeral-storage=0"))
}

func (c chooser) bytes() *uint64 {
	if c.one(8) {
		return nil
	}
	u := uint64(c.Intn(13)) * 10 << 20
	return &u
}

func (c chooser) usage() FsUsage { return FsUsage{UsedBytes: c.bytes(), InodesUsed: c.bytes()} }

func (c chooser) volume(name string) v1.Volume {
	limit := testkit.Resources("memory=" + pick(c, "0", "30Mi", "90Mi"))["memory"]
	return v1.Volume{Name: name, VolumeSource: pick(c, v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}, v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: &limit}},
		v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory, SizeLimit: &limit}}, v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}},
		v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}, v1.VolumeSource{GitRepo: &v1.GitRepoVolumeSource{}}, v1.VolumeSource{Secret: &v1.SecretVolumeSource{}})}
}

// pod returns a pod and its statistics, which may be missing.
func (c chooser) pod(name string) (*v1.Pod, *PodStats) {
	p := testkit.Pod(name).Obj()
	p.Spec.Containers = nil
	container := func(name string) v1.Container {
		limits := v1.ResourceList{}
		if c.one(3) {
			limits = c.amounts()
		}
		k := v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: c.amounts(), Limits: limits}}
		if c.one(3) {
			k.Resources.Limits = k.Resources.Requests
		}
		return k
	}
	for _, name := range []string{"c", "d"}[:1+c.Intn(2)] {
		p.Spec.Containers = append(p.Spec.Containers, container(name))
		if c.one(4) {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, v1.ContainerStatus{Name: name, AllocatedResources: c.amounts()})
		}
	}
	if c.one(3) {
		i := container("i")
		if c.one(2) {
			i.RestartPolicy = ptr(v1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = []v1.Container{i}
		if c.one(3) {
			p.Status.InitContainerStatuses = []v1.ContainerStatus{{Name: "i", AllocatedResources: c.amounts()}}
		}
	}
	for _, name := range []string{"v", "w"}[:c.Intn(3)] {
		p.Spec.Volumes = append(p.Spec.Volumes, c.volume(name))
	}
	if c.one(4) {
		p.Spec.Resources = &v1.ResourceRequirements{Requests: c.amounts(), Limits: c.amounts()}
	}
	if c.one(6) {
		p.Status.AllocatedResources = c.amounts()
	}
	if c.one(4) {
		p.Spec.Overhead = c.amounts()
	}
	if c.one(2) {
		p.Spec.Priority = pick(c, ptr(int32(-1)), ptr(int32(0)), ptr(int32(5)), ptr(int32(1999999999)), ptr(int32(2000000000)))
	}
	if c.one(2) {
		start := metav1.NewTime(since(float64(c.Intn(3))))
		p.Status.StartTime = &start
	}
	if c.one(3) {
		p.Spec.TerminationGracePeriodSeconds = pick(c, ptr(int64(-3)), ptr(int64(0)), ptr(int64(1)), ptr(int64(20)), ptr(int64(90)))
	}
	switch c.Intn(12) {
	case 0:
		p.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
	case 1:
		p.Annotations = map[string]string{"kubernetes.io/config.mirror": "x"}
	case 2:
		p.Status.Phase = v1.PodFailed
	case 3:
		now := metav1.NewTime(epoch)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &now, ptr(int64(c.Intn(30)))
		p.Status.Phase = pick(c, v1.PodRunning, v1.PodSucceeded)
	}
	if c.one(4) {
		p.Spec.Tolerations = []v1.Toleration{{Key: v1.TaintNodeMemoryPressure, Operator: v1.TolerationOpExists, Effect: pick(c, v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute)}}
	}
	if c.one(5) {
		return p, nil
	}
	st := &PodStats{WorkingSetBytes: c.bytes(), Processes: c.bytes(), EphemeralStorageUsed: c.bytes()}
	for _, name := range []string{"c", "d", "i", "gone"} {
		if c.one(2) {
			st.Containers = append(st.Containers, ContainerStats{Name: name, WorkingSetBytes: c.bytes(), Rootfs: c.usage(), Logs: c.usage()})
		}
	}
	for range c.Intn(4) {
		st.Volumes = append(st.Volumes, VolumeStats{Name: pick(c, "v", "w"), FsUsage: c.usage()})
	}
	return p, st
}

func (c chooser) config() Config {
	k := Config{EvictionSoft: settings{}, EvictionSoftGracePeriod: settings{}, EvictionMinimumReclaim: settings{}, EvictionMaxPodGracePeriod: pick(c, int32(-1), 0, 40),
		EvictionPressureTransitionPeriod: pick(c, 0, 20*time.Second), MergeDefaultEvictionSettings: c.one(2), IgnoreLocalStorage: c.one(2)}
	value := func() string { return pick(c, "40Mi", "90Mi", "30%", "55.5%", "100%", "80Mi") }
	for _, s := range Signals() {
		s := string(s)
		if c.one(3) {
			if k.EvictionHard == nil {
				k.EvictionHard = settings{}
			}
			k.EvictionHard[s] = value()
		}
		if c.one(4) {
			k.EvictionSoft[s], k.EvictionSoftGracePeriod[s] = value(), pick(c, "0s", "5s", "25s")
		}
		if c.one(4) {
			k.EvictionMinimumReclaim[s] = pick(c, "15Mi", "5%", "0")
		}
	}
	if c.one(3) {
		k.EnforceNodeAllocatable = []string{"pods", "kube-reserved"}[c.Intn(2):]
	}
	return Default(k, pick(c, "linux", "windows", "other"))
}

// day returns what a kubelet does in some observations of a random node, and all other answers about the pods there.
func (c chooser) day(t *testing.T) string {
	var b strings.Builder
	line := func(parts ...any) { fmt.Fprintln(&b, parts...) }
	o := Options{Release: pick(c, release.Versions()...), ExactPercent: c.one(2), InodeUsageOnly: c.one(3), NegativeMaxGraceMeansPod: c.one(2), KeepOrder: c.one(4)}
	p, err := Compile(c.config(), o)
	require.NoError(t, err)
	layout := pick(c, singleFilesystem, dedicatedImages, splitImages, inconsistent)
	line(layout, p.Warnings(), p.Thresholds(layout), p.Thresholds(""))
	state, now := State{}, epoch
	for step := range 4 {
		now = now.Add(time.Duration(c.Intn(15)) * time.Second)
		seen := Observation{Signals: map[Signal]Measurement{}, Stats: map[types.UID]PodStats{}}
		if step > 0 || c.one(2) {
			seen.Layout = layout
		}
		for _, s := range Signals() {
			if !c.one(5) {
				seen.Signals[s] = Measurement{Available: int64(c.Intn(110)) << 20, Capacity: 100 << 20, Time: pick(c, now, now, time.Time{}, epoch)}
			}
		}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			pod, st := c.pod(name)
			seen.Pods = append(seen.Pods, pod)
			if st != nil {
				seen.Stats[pod.UID] = *st
			}
		}
		if c.one(3) {
			seen.Pods = append(seen.Pods, nil)
		}
		var d Decision
		state, d = p.Observe(state, seen, now)
		kept, err := json.Marshal(state)
		require.NoError(t, err)
		line(string(kept), d.Waiting, d.Conditions, d.Event, d.Reclaim, d.Acting)
		for _, s := range d.Thresholds {
			line(" ", s.Threshold, s.Value.String(), s.Target.String(), s.Met, s.Since, s.Due, s.Actionable)
			if s.Measured != nil {
				f := p.Forecast(s.Threshold, *s.Measured, seen)
				line("  forecast", f.Target.String(), f.Cleared)
				for _, x := range f.Steps {
					line("   ", x.Pod.Name, x.GraceSeconds, x.Frees, x.Available)
				}
			}
		}
		evictions := d.LocalStorage
		if d.Eviction != nil {
			evictions = append(evictions, *d.Eviction)
		}
		for _, e := range evictions {
			line(" ", e.Pod.Name, e.GraceSeconds, e.WaitAtMost, e.Message, e.Annotations, e.Disrupted != nil)
		}
		next, some := p.NextChange(state, now)
		line(p.Relieved(state, seen.Signals), next, some)
		line(c.ask(seen, layout, o, d.Conditions))
	}
	return b.String()
}

// ask returns the answers that need no policy.
func (c chooser) ask(seen Observation, layout Layout, o Options, on []v1.NodeConditionType) string {
	var b strings.Builder
	for _, s := range Signals() {
		fmt.Fprint(&b, s)
		for _, r := range Rank(s, layout, seen.Pods, seen.Stats, o) {
			fmt.Fprint(&b, " ", r.Pod.Name, r.Measured, r.Usage, r.Request, r.Exceeds, r.Priority, r.Exempt)
		}
		fmt.Fprintln(&b)
	}
	for _, pod := range seen.Pods {
		admitted, message := Admit(pod, on)
		only, _ := Admit(pod, []v1.NodeConditionType{v1.NodeMemoryPressure})
		fmt.Fprintln(&b, admitted, message, only)
	}
	missing := []Missing{{v1.ResourceCPU, int64(c.Intn(4)-1) * 400}, {v1.ResourceMemory, int64(c.Intn(4)) * 40 << 20}, {v1.ResourcePods, int64(c.Intn(2))}}
	victims, err := CriticalVictims(seen.Pods[0], seen.Pods, missing)
	for _, v := range victims {
		fmt.Fprint(&b, v.Name, " ")
	}
	fmt.Fprintln(&b, err)
	return b.String()
}

// The answers about random nodes stay what they are. The file has the hashes of the answers about 20 nodes each, and the first
// lines of one.
func TestAnswersAboutRandomNodes(t *testing.T) {
	var out strings.Builder
	for k := range int64(15) {
		h := testkit.Hash64(t, k)
		for seed := range int64(20) {
			fmt.Fprint(h, chooser{rand.New(rand.NewSource(20*k + seed))}.day(t))
		}
		fmt.Fprintf(&out, "%d: %x\n", k, h.Sum64())
	}
	testkit.Golden(t, "testdata/answers.txt", out.String()+chooser{rand.New(rand.NewSource(1))}.day(t)[:8000])
}
