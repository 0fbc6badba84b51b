package kubelet_test

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/overhead/kubelet"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// amounts of cpu in thousandths and of memory in bytes, with the ends where a formula changes.
var (
	milli = []int64{0, 1, 2, 3, 10, 100, 999, 1000, 1500, 255999, 256000, 256001, 1 << 50, 1<<63 - 1}
	bytes = []int64{0, 1, 2, 3, 996, 997, 998, 999, 1000, 1001, 2000, 1 << 20, 1 << 40, 1 << 48}
)

type source struct{ *testkit.Bytes }

func (s source) list() v1.ResourceList {
	l := v1.ResourceList{}
	if s.Below(4) > 0 {
		l[v1.ResourceCPU] = *resource.NewMilliQuantity(testkit.Pick(s.Bytes, milli...), resource.DecimalSI)
	}
	if s.Below(4) > 0 {
		l[v1.ResourceMemory] = *resource.NewQuantity(testkit.Pick(s.Bytes, bytes...), resource.BinarySI)
	}
	if s.OneIn(8) {
		l["hugepages-2Mi"] = *resource.NewQuantity(2<<20, resource.BinarySI)
	}
	return l
}

func (s source) resources() v1.ResourceRequirements {
	r := v1.ResourceRequirements{Requests: s.list(), Limits: s.list()}
	if s.OneIn(2) {
		r.Limits = r.Requests
	}
	return r
}

func (s source) pod() *v1.Pod {
	pod := testkit.Pod("p").Obj()
	pod.Spec.Containers = nil
	for k := range 1 + s.Below(3) {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: string(rune('a' + k)), Resources: s.resources()})
	}
	for k := range s.Below(3) {
		c := v1.Container{Name: string(rune('m' + k)), Resources: s.resources()}
		if s.OneIn(2) {
			always := v1.ContainerRestartPolicyAlways
			c.RestartPolicy = &always
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	if s.OneIn(5) {
		r := s.resources()
		pod.Spec.Resources = &r
	}
	return pod
}

// FuzzKubelet compares the class, the cgroup and the OOM score with the rules in fractions.
func FuzzKubelet(f *testing.F) {
	for seed := range uint64(testkit.Rounds(2000)) {
		f.Add(testkit.RandomBytes(seed, 80))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source{testkit.NewBytes(data)}
		pod := s.pod()
		o := kubelet.CgroupOptions{IgnoreCPULimits: s.OneIn(4), PeriodMicros: testkit.Pick[int64](s.Bytes, 0, 0, 1, 1000, 100000, 1<<40)}
		o.Release = testkit.Pick(s.Bytes, release.Versions()...)
		class := classOf(pod, o.Release)
		testkit.Unchanged(t, func() {
			require.Equal(t, class, kubelet.QoS(pod, o.Release))
			checkCgroup(t, pod, o, class)
			checkScore(t, pod, testkit.Pick(s.Bytes, bytes[1:]...), class, o.Release)
		}, pod)
	})
}

func fraction(q resource.Quantity) *big.Rat {
	r, _ := new(big.Rat).SetString(q.AsDec().String())
	return r
}

func sumOf(list ...*big.Rat) *big.Rat {
	sum := new(big.Rat)
	for _, r := range list {
		sum.Add(sum, r)
	}
	return sum
}

func containers(pod *v1.Pod) []v1.Container {
	return append(slices.Clone(pod.Spec.Containers), pod.Spec.InitContainers...)
}

// classOf compares the sums of all containers, or of the pod as a whole: since v1.37 only if it names a resource of a pod as a whole.
func classOf(pod *v1.Pod, v release.Version) v1.PodQOSClass {
	var of []v1.ResourceRequirements
	for _, c := range containers(pod) {
		of = append(of, c.Resources)
	}
	if r := pod.Spec.Resources; r != nil && (!v.AtLeast(release.V1_37) || len(r.Requests)+len(r.Limits) > 0) {
		of = []v1.ResourceRequirements{*pod.Spec.Resources}
	}
	some, guaranteed := false, true
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		requests, limits := new(big.Rat), new(big.Rat)
		for _, r := range of {
			requests, limits = sumOf(requests, fraction(r.Requests[name])), sumOf(limits, fraction(r.Limits[name]))
			guaranteed = guaranteed && fraction(r.Limits[name]).Sign() > 0
		}
		some = some || requests.Sign() > 0 || limits.Sign() > 0
		guaranteed = guaranteed && requests.Cmp(limits) == 0
	}
	switch {
	case !some:
		return v1.PodQOSBestEffort
	case guaranteed:
		return v1.PodQOSGuaranteed
	}
	return v1.PodQOSBurstable
}

// whole returns a/b without its fraction, from low to high.
func whole(a, b *big.Int, low, high int64) int64 {
	q := new(big.Int).Quo(a, b)
	if q.Cmp(big.NewInt(low)) < 0 {
		return low
	}
	if q.Cmp(big.NewInt(high)) > 0 {
		return high
	}
	return q.Int64()
}

func times(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }

func checkCgroup(t *testing.T, pod *v1.Pod, o kubelet.CgroupOptions, class v1.PodQOSClass) {
	requests, limits := overhead.Requests(pod, overhead.Options{}), overhead.Limits(pod, overhead.Options{})
	g := kubelet.PodCgroup(pod, o)
	shares, quota := int64(2), int64(-1)
	if class != v1.PodQOSBestEffort {
		shares = whole(times(resources.Value("cpu", requests["cpu"]), 1024), big.NewInt(1000), 2, 262144)
	}
	period := max(o.PeriodMicros, 0)
	if period == 0 {
		period = 100000
	}
	if cpu := resources.Value("cpu", limits["cpu"]); !o.IgnoreCPULimits {
		quota = whole(times(cpu, period), big.NewInt(1000), 1000, math.MaxInt64/1000)
		if cpu == 0 {
			quota = 0
		}
	}
	require.Equal(t, shares, g.Shares)
	require.Equal(t, 1+(shares-2)*9999/262142, g.Weight)
	of := func(name v1.ResourceName, value int64) *int64 {
		if class == v1.PodQOSGuaranteed || class == v1.PodQOSBurstable && declares(pod, name, o.Release) {
			return &value
		}
		return nil
	}
	require.Equal(t, of("cpu", quota), g.QuotaMicros)
	require.Equal(t, of("cpu", period), g.PeriodMicros)
	require.Equal(t, of("memory", resources.Value("memory", limits["memory"])), g.MemoryBytes)
	huge, asked := requests["hugepages-2Mi"]
	require.Equal(t, asked, g.HugePages != nil)
	require.Equal(t, huge.Value(), g.HugePages["2Mi"])
}

// declares: every container, or the pod, has a limit; an init container also by a sidecar before it, up to v1.36.
func declares(pod *v1.Pod, name v1.ResourceName, v release.Version) bool {
	positive := func(c v1.Container) bool { return fraction(c.Resources.Limits[name]).Sign() > 0 }
	if r := pod.Spec.Resources; r != nil && fraction(r.Limits[name]).Sign() > 0 {
		return true
	}
	all := !slices.ContainsFunc(pod.Spec.Containers, func(c v1.Container) bool { return !positive(c) })
	for i, c := range pod.Spec.InitContainers {
		before := slices.ContainsFunc(pod.Spec.InitContainers[:i], func(c v1.Container) bool { return c.RestartPolicy != nil && positive(c) })
		all = all && (before && !v.AtLeast(release.V1_37) || positive(c))
	}
	return all
}

func checkScore(t *testing.T, pod *v1.Pod, capacity int64, class v1.PodQOSClass, v release.Version) {
	memory := func(c v1.Container) int64 { return resources.Value("memory", c.Resources.Requests["memory"]) }
	share := int64(0)
	if r := pod.Spec.Resources; r != nil && resources.Value("memory", r.Requests["memory"]) != 0 {
		named := overhead.Requests(pod, overhead.Options{IgnorePodLevel: true, IgnoreOverhead: true})["memory"]
		share = (resources.Value("memory", r.Requests["memory"]) - resources.Value("memory", named)) / int64(len(containers(pod)))
	}
	least := slices.MinFunc(pod.Spec.Containers, func(a, b v1.Container) int { return cmp.Compare(memory(a), memory(b)) })
	score := func(memory int64) int64 {
		return 1000 - whole(times(1000, memory), big.NewInt(capacity), math.MinInt64, 1000)
	}
	for _, c := range containers(pod) {
		want := score(memory(c) + share)
		if c.RestartPolicy != nil {
			want = min(want, score(memory(least)+share))
		}
		want = max(want, 3)
		if want == 1000 {
			want = 999
		}
		switch class {
		case v1.PodQOSBestEffort:
			want = 1000
		case v1.PodQOSGuaranteed:
			want = -997
		}
		got, err := kubelet.OOMScoreAdj(pod, &c, capacity, v)
		require.NoError(t, err)
		require.EqualValues(t, want, got, "%s of %d", c.Name, capacity)
	}
}
