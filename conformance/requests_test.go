package conformance

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helpers "k8s.io/component-helpers/resource"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	qoshelper "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/qos"
	quota "k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/overhead/kubelet"
	podquota "github.com/podberth/podberth/overhead/quota"
	"github.com/podberth/podberth/release"
)

var resourceNames = []v1.ResourceName{"cpu", "memory", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi", "hugepages-1Gi", "foo",
	"pods", "requests.example.com/x", "kubernetes.io/y", "attachable-volumes-z", "a.b/c"}

var quantities = []string{"1", "0", "2", "500m", "100u", "1500m", "250m", "1536Mi", "128Mi", "2.0", "3k", "1Gi", "4Gi", "4", "100m", "7"}

// podMaker makes pods with every field from which requests can come, also pods that the API would refuse.
type podMaker struct{ *rand.Rand }

func (m podMaker) list() v1.ResourceList {
	count := m.Intn(5)
	if count == 0 {
		return nil
	}
	list := v1.ResourceList{}
	for range count {
		name := resourceNames[m.Intn(2+m.Intn(len(resourceNames)-1))]
		list[name] = resource.MustParse(quantities[m.Intn(len(quantities))])
	}
	return list
}

func (m podMaker) requirements() v1.ResourceRequirements {
	r := v1.ResourceRequirements{Requests: m.list(), Limits: m.list()}
	if m.Intn(4) == 0 {
		r.Limits = r.Requests
	}
	return r
}

func (m podMaker) statuses(containers []v1.Container) (out []v1.ContainerStatus) {
	for _, c := range containers {
		if m.Intn(3) == 0 {
			continue
		}
		s := v1.ContainerStatus{Name: c.Name, AllocatedResources: m.list()}
		if m.Intn(4) > 0 {
			r := m.requirements()
			s.Resources = &r
		}
		out = append(out, s)
	}
	return out
}

func (m podMaker) pod() *v1.Pod {
	pod := &v1.Pod{}
	for i := range m.Intn(4) {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: fmt.Sprintf("c%d", i), Resources: m.requirements()})
	}
	policies := []v1.ContainerRestartPolicy{"", v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyNever}
	for i := range m.Intn(5) {
		c := v1.Container{Name: fmt.Sprintf("i%d", i), Resources: m.requirements()}
		if p := policies[m.Intn(4)]; p != "" {
			c.RestartPolicy = &p
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	if m.Intn(3) == 0 {
		pod.Spec.Overhead = m.list()
	}
	if m.Intn(3) == 0 {
		r := m.requirements()
		pod.Spec.Resources = &r
	}
	if m.Intn(2) == 0 {
		pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = m.statuses(pod.Spec.Containers), m.statuses(pod.Spec.InitContainers)
	}
	if m.Intn(3) == 0 {
		r := m.requirements()
		if r.Limits == nil {
			r.Limits = v1.ResourceList{}
		}
		pod.Status.Resources, pod.Status.AllocatedResources = &r, m.list()
	}
	for range m.Intn(3) {
		kind := []v1.PodConditionType{v1.PodResizePending, v1.PodResizeInProgress}[m.Intn(2)]
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: kind, Reason: []string{"Infeasible", "Deferred"}[m.Intn(2)]})
	}
	return pod
}

// text prints a list so that equal amounts look equal.
func text(r v1.ResourceList) string {
	names := make([]string, 0, len(r))
	for k, q := range r {
		amount := q.AsDec().String()
		if strings.Contains(amount, ".") {
			amount = strings.TrimSuffix(strings.TrimRight(amount, "0"), ".")
		}
		names = append(names, string(k)+"="+amount)
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}

func pointer[T any](p *T) string {
	if p == nil {
		return "none"
	}
	return fmt.Sprint(*p)
}

// Requests, limits, class of service, quota, cgroups, defaults and what a scheduler counts, of pods of all kinds.
func TestRequests(t *testing.T) {
	n := gen.Count(4000, 10)
	for i := range n {
		seed := *gen.Seed + int64(i)
		m := podMaker{rand.New(rand.NewSource(seed))}
		written, err := json.Marshal(m.pod())
		if err != nil {
			t.Fatal(err)
		}
		read := func() *v1.Pod { // the pod as a client of the API reads it; Kubernetes may change its copy
			p := &v1.Pod{}
			if err := json.Unmarshal(written, p); err != nil {
				t.Fatal(err)
			}
			return p
		}
		o := overhead.Options{UseStatus: m.Intn(2) == 0, IgnorePodLevel: m.Intn(4) == 0, IgnorePodStatus: m.Intn(4) == 0, IgnoreOverhead: m.Intn(4) == 0}
		if m.Intn(4) == 0 {
			o.Missing = m.list()
		}
		pod := read()
		differ := func(what, real, podberth string) {
			seen.Compared("requests/" + what)
			if real != podberth {
				t.Errorf("seed %d: %s with %+v: Kubernetes %s, podberth %s\n%s", seed, what, o, real, podberth, written)
			}
		}
		theirs := helpers.PodResourcesOptions{UseStatusResources: o.UseStatus, InPlacePodLevelResourcesVerticalScalingEnabled: !o.IgnorePodStatus,
			ExcludeOverhead: o.IgnoreOverhead, SkipPodLevelResources: o.IgnorePodLevel, NonMissingContainerRequests: o.Missing}
		differ("requests", text(helpers.PodRequests(read(), theirs)), text(overhead.Requests(pod, o)))
		differ("limits", text(helpers.PodLimits(read(), theirs)), text(overhead.Limits(pod, o)))
		unrecorded := pod.DeepCopy()
		unrecorded.Status.QOSClass = ""
		differ("class of service", string(qoshelper.ComputePodQOS(read())), string(kubelet.QoS(unrecorded, release.Current)))
		if used, err := quota.PodUsageFunc(read(), clock.RealClock{}); err == nil {
			differ("quota", text(used), text(podquota.Usage(pod, clock.RealClock{}.Now(), release.Current)))
		}
		c, ours := cm.ResourceConfigForPod(read(), true, 100000, false, ""), kubelet.PodCgroup(pod, kubelet.CgroupOptions{})
		differ("cgroup", pointer(c.CPUShares)+" "+pointer(c.CPUQuota)+" "+pointer(c.CPUPeriod)+" "+pointer(c.Memory)+" "+fmt.Sprint(len(c.HugePageLimit)),
			fmt.Sprint(ours.Shares)+" "+pointer(ours.QuotaMicros)+" "+pointer(ours.PeriodMicros)+" "+pointer(ours.MemoryBytes)+" "+fmt.Sprint(len(ours.HugePages)))
		if len(pod.Spec.Containers) > 0 && !asksLess(pod) {
			for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
				for k := range list {
					score, err := kubelet.OOMScoreAdj(pod, &list[k], 16<<30, release.Current)
					if err != nil {
						t.Fatal(err)
					}
					differ("oom score", fmt.Sprint(qos.GetContainerOOMScoreAdjust(read(), &list[k], 16<<30)), fmt.Sprint(score))
				}
			}
		}
		compareDefaults(differ, read(), overhead.Default(pod))
		compareRow(t, differ, read(), pod)
		seen.Case(t.Name(), seed, nil)
	}
}

// asksLess reports whether the pod asks for less memory as a whole than its containers do. The API server refuses it, and the kubelet of
// v1.37 gives it another score.
func asksLess(pod *v1.Pod) bool {
	r := pod.Spec.Resources
	if r == nil || !trial.Linked.AtLeast(release.V1_37) {
		return false
	}
	named := overhead.Requests(pod, overhead.Options{IgnorePodLevel: true, IgnoreOverhead: true})[v1.ResourceMemory]
	whole, ok := r.Requests[v1.ResourceMemory]
	return ok && whole.Cmp(named) < 0
}

func compareDefaults(differ func(what, real, podberth string), theirs, ours *v1.Pod) {
	corev1.SetObjectDefaults_Pod(theirs)
	for i := range theirs.Spec.Containers {
		differ("defaults", text(theirs.Spec.Containers[i].Resources.Requests), text(ours.Spec.Containers[i].Resources.Requests))
	}
	for i := range theirs.Spec.InitContainers {
		differ("defaults", text(theirs.Spec.InitContainers[i].Resources.Requests), text(ours.Spec.InitContainers[i].Resources.Requests))
	}
	if r := theirs.Spec.Resources; r != nil && !trial.Linked.AtLeast(release.V1_37) { // which fills it after admission (rule L15.4)
		differ("defaults", text(r.Requests)+text(r.Limits), text(ours.Spec.Resources.Requests)+text(ours.Spec.Resources.Limits))
	}
}

// compareRow compares the amounts that a pod adds to its node in both schedulers.
func compareRow(t *testing.T, differ func(what, real, podberth string), theirs, ours *v1.Pod) {
	info, err := framework.NewPodInfo(theirs)
	if err != nil {
		t.Fatal(err)
	}
	r := info.CalculateResource()
	cpu, memory := overhead.NonZero(ours, release.Current)
	differ("non-zero", fmt.Sprint(r.Non0CPU, r.Non0Mem), fmt.Sprint(cpu, memory))
	got, want := map[v1.ResourceName]int64{}, map[v1.ResourceName]int64{}
	overhead.Each(ours, overhead.Options{UseStatus: true}, func(name v1.ResourceName, n int64) { got[name] = n })
	for name, n := range map[v1.ResourceName]int64{v1.ResourceCPU: r.Resource.GetMilliCPU(), v1.ResourceMemory: r.Resource.GetMemory(), v1.ResourceEphemeralStorage: r.Resource.GetEphemeralStorage()} {
		want[name] = n
		got[name] += 0
	}
	for name, n := range r.Resource.GetScalarResources() {
		want[name] = n
	}
	differ("row", fmt.Sprint(want), fmt.Sprint(got))
}
