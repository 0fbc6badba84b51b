package kubelet_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	rh "k8s.io/component-helpers/resource"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	qoshelper "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/qos"
	quotacore "k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/overhead/kubelet"
	podquota "github.com/podberth/podberth/overhead/quota"
	"github.com/podberth/podberth/release"
)

// TestOverhead compares everything that is computed from one pod: requests, limits, class, cgroup, OOM scores, quota, the
// API server's defaults, and what the scheduler counts.
func TestOverhead(t *testing.T) {
	trial.Run(t, 6000, 300, func(s *trial.Source) error {
		pod, err := randomPod(s)
		if err != nil {
			return err
		}
		if trial.Linked.AtLeast(release.V1_37) {
			distinguish(pod)
		}
		text, err := yaml.Marshal(pod)
		if err != nil {
			return err
		}
		s.Note("%s", text)
		for _, check := range []func(*trial.Source, *v1.Pod) error{sums, class, cgroup, oom, quota, defaulting, counted} {
			if err := check(s, pod); err != nil {
				return err
			}
		}
		return nil
	}, "class Guaranteed", "class Burstable", "class BestEffort", "quota of CPU", "memory limit", "huge pages", "oom -997", "oom 1000", "oom between", "pod-level", "resize", "sidecar")
}

// distinguish gives the second container of a name, and its second status, the next free letter. The API server refuses equal names, and
// v1.37 takes another one of such statuses than earlier releases.
func distinguish(pod *v1.Pod) {
	spec, status := namer(), namer()
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			spec(&list[i].Name)
		}
	}
	for _, list := range [][]v1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			status(&list[i].Name)
		}
	}
}

// namer returns a function that changes a name which it has met.
func namer() func(name *string) {
	met := map[string]bool{}
	return func(name *string) {
		for free := 'a'; met[*name]; free++ {
			*name = string(free)
		}
		met[*name] = true
	}
}

func sums(s *trial.Source, pod *v1.Pod) error {
	o := overhead.Options{Release: trial.Linked, UseStatus: s.Once(2), IgnorePodLevel: s.Once(4), IgnorePodStatus: s.Once(4), IgnoreOverhead: s.Once(4)}
	if s.Once(4) {
		o.Missing = list(s)
	}
	ro := rh.PodResourcesOptions{UseStatusResources: o.UseStatus, InPlacePodLevelResourcesVerticalScalingEnabled: !o.IgnorePodStatus,
		ExcludeOverhead: o.IgnoreOverhead, SkipPodLevelResources: o.IgnorePodLevel, NonMissingContainerRequests: o.Missing}
	if err := equal("requests", rh.PodRequests(pod.DeepCopy(), ro), overhead.Requests(pod, o)); err != nil {
		return fmt.Errorf("%w\noptions %+v", err, o)
	}
	if err := equal("limits", rh.PodLimits(pod.DeepCopy(), ro), overhead.Limits(pod, o)); err != nil {
		return fmt.Errorf("%w\noptions %+v", err, o)
	}
	if pod.Spec.Resources != nil {
		s.Count("pod-level")
	}
	if o.UseStatus && len(pod.Status.ContainerStatuses) > 0 {
		s.Count("resize")
	}
	if slices.ContainsFunc(pod.Spec.InitContainers, func(c v1.Container) bool { return overhead.IsSidecar(&c) }) {
		s.Count("sidecar")
	}
	return nil
}

func class(s *trial.Source, pod *v1.Pod) error {
	unrecorded := pod.DeepCopy()
	unrecorded.Status.QOSClass = ""
	want, got := qoshelper.ComputePodQOS(pod.DeepCopy()), kubelet.QoS(unrecorded, trial.Linked)
	s.Count("class " + string(want))
	if want != got {
		return fmt.Errorf("class: real %v, podberth %v", want, got)
	}
	if want, got := qoshelper.GetPodQOS(pod.DeepCopy()), kubelet.QoS(pod, trial.Linked); want != got {
		return fmt.Errorf("recorded class: real %v, podberth %v", want, got)
	}
	return nil
}

func cgroup(s *trial.Source, pod *v1.Pod) error {
	o := kubelet.CgroupOptions{Release: trial.Linked, IgnoreCPULimits: s.Once(4), PeriodMicros: trial.Pick(s, int64(0), 100000, 10000, 50000)}
	period := o.PeriodMicros
	if period == 0 {
		period = 100000
	}
	want, got := cm.ResourceConfigForPod(pod.DeepCopy(), !o.IgnoreCPULimits, uint64(period), false, ""), kubelet.PodCgroup(pod, o)
	pages := map[int64]int64{}
	sizes := map[string]int64{"2Mi": 2 << 20, "1Gi": 1 << 30}
	for size, n := range got.HugePages {
		pages[sizes[size]] = n
	}
	a := fmt.Sprint(str(want.CPUShares), str(want.CPUQuota), str(want.CPUPeriod), str(want.Memory), sorted(want.HugePageLimit))
	b := fmt.Sprint(str(&got.Shares), str(got.QuotaMicros), str(got.PeriodMicros), str(got.MemoryBytes), sorted(pages))
	if want.CPUQuota != nil {
		s.Count("quota of CPU")
	}
	if want.Memory != nil {
		s.Count("memory limit")
	}
	if len(want.HugePageLimit) > 0 {
		s.Count("huge pages")
	}
	if a != b {
		return fmt.Errorf("cgroup (shares, quota, period, memory, huge pages) with %+v\nreal     %s\npodberth %s", o, a, b)
	}
	milli, micros := int64(s.N(65536))*int64(s.N(65536)), int64(1000+s.N(65536)*16)
	plain := &v1.Pod{Spec: v1.PodSpec{Overhead: v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI)}}}
	fixed, _ := kubelet.Sandbox(plain, kubelet.CgroupOptions{PeriodMicros: micros})
	if want, got := cm.MilliCPUToShares(milli), fixed.Shares; want != uint64(got) {
		return fmt.Errorf("shares of %d: real %d, podberth %d", milli, want, got)
	}
	if want, got := cm.MilliCPUToQuota(milli, micros), *fixed.QuotaMicros; want != got {
		return fmt.Errorf("quota of %d in %d: real %d, podberth %d", milli, micros, want, got)
	}
	return nil
}

func sorted(m map[int64]int64) (out []string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%d=%d", k, m[k]))
	}
	return out
}

func str[T any](p *T) string {
	if p == nil {
		return " -"
	}
	return fmt.Sprint(" ", *p)
}

func oom(s *trial.Source, pod *v1.Pod) error {
	capacity := int64(1+s.N(64)) << (24 + s.N(12))
	all := append(slices.Clone(pod.Spec.Containers), pod.Spec.InitContainers...)
	if len(pod.Spec.Containers) == 0 { // the API server refuses such pods
		return nil
	}
	if r := pod.Spec.Resources; r != nil && trial.Linked.AtLeast(release.V1_37) { // there the kubelet has another score for pods that the API server refuses
		named := overhead.Requests(pod, overhead.Options{IgnorePodLevel: true, IgnoreOverhead: true})[v1.ResourceMemory]
		if whole, ok := r.Requests[v1.ResourceMemory]; ok && whole.Cmp(named) < 0 {
			return nil
		}
	}
	for i := range all {
		c := &all[i]
		same := 0
		for j := range all {
			if all[j].Name == c.Name {
				same++
			}
		}
		if same > 1 { // the API server refuses such pods too
			continue
		}
		want := qos.GetContainerOOMScoreAdjust(pod.DeepCopy(), c.DeepCopy(), capacity)
		got, err := kubelet.OOMScoreAdj(pod, c, capacity, trial.Linked)
		if err != nil {
			return err
		}
		switch want {
		case -997, 1000:
			s.Count(fmt.Sprint("oom ", want))
		default:
			s.Count("oom between")
		}
		if want != got {
			return fmt.Errorf("OOM score of %s with %d bytes: real %d, podberth %d", c.Name, capacity, want, got)
		}
	}
	return nil
}

func quota(_ *trial.Source, pod *v1.Pod) error {
	want, err := quotacore.PodUsageFunc(pod.DeepCopy(), clock.RealClock{})
	if err != nil {
		return err
	}
	return equal("quota", want, podquota.Usage(pod, time.Now(), trial.Linked))
}

func defaulting(_ *trial.Source, pod *v1.Pod) error {
	want, got := pod.DeepCopy(), overhead.Default(pod)
	corev1.SetObjectDefaults_Pod(want)
	for i := range want.Spec.Containers {
		if err := equal("defaults of a container", want.Spec.Containers[i].Resources.Requests, got.Spec.Containers[i].Resources.Requests); err != nil {
			return err
		}
	}
	for i := range want.Spec.InitContainers {
		if err := equal("defaults of an init container", want.Spec.InitContainers[i].Resources.Requests, got.Spec.InitContainers[i].Resources.Requests); err != nil {
			return err
		}
	}
	if want.Spec.Resources == nil || trial.Linked.AtLeast(release.V1_37) { // which fills it after admission (rule L15.4)
		return nil
	}
	if err := equal("defaults of the pod's requests", want.Spec.Resources.Requests, got.Spec.Resources.Requests); err != nil {
		return err
	}
	return equal("defaults of the pod's limits", want.Spec.Resources.Limits, got.Spec.Resources.Limits)
}

// counted compares what the scheduler adds to a node for the pod.
func counted(_ *trial.Source, pod *v1.Pod) error {
	info, err := framework.NewPodInfo(pod.DeepCopy())
	if err != nil {
		return err
	}
	r := info.CalculateResource()
	cpu, memory := overhead.NonZero(pod, trial.Linked)
	if r.Non0CPU != cpu || r.Non0Mem != memory {
		return fmt.Errorf("nonzero: real %d %d, podberth %d %d", r.Non0CPU, r.Non0Mem, cpu, memory)
	}
	got := map[v1.ResourceName]int64{}
	overhead.Each(pod, overhead.Options{UseStatus: true, Release: trial.Linked}, func(n v1.ResourceName, v int64) { got[n] = v })
	want := maps.Clone(r.Resource.GetScalarResources())
	if want == nil {
		want = map[v1.ResourceName]int64{}
	}
	want[v1.ResourceCPU], want[v1.ResourceMemory], want[v1.ResourceEphemeralStorage] = r.Resource.GetMilliCPU(), r.Resource.GetMemory(), r.Resource.GetEphemeralStorage()
	for _, n := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage} {
		got[n] += 0
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("counted on a node: real %v, podberth %v", want, got)
	}
	if milli, _ := overhead.NonZero(&v1.Pod{Spec: v1.PodSpec{Containers: make([]v1.Container, 1)}}, trial.Linked); milli != util.DefaultMilliCPURequest {
		return fmt.Errorf("default CPU: real %d, podberth %d", util.DefaultMilliCPURequest, milli)
	}
	return nil
}

func equal(what string, want, got v1.ResourceList) error {
	if len(want) == len(got) && !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(n v1.ResourceName) bool {
		g, ok := got[n]
		w := want[n]
		return !ok || w.Cmp(g) != 0
	}) {
		return nil
	}
	return fmt.Errorf("%s\nreal     %s\npodberth %s", what, show(want), show(got))
}

func show(l v1.ResourceList) string {
	out := ""
	for _, n := range slices.Sorted(maps.Keys(l)) {
		q := l[n]
		out += fmt.Sprintf("%s=%s ", n, q.String())
	}
	return out
}
