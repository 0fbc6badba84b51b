package overhead

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

func milli(n int64) *resource.Quantity { return resource.NewMilliQuantity(n, resource.DecimalSI) }

// rat is an amount of one resource, nil when the resource is not named.
func rat(list v1.ResourceList, name v1.ResourceName) *big.Rat {
	q, ok := list[name]
	if !ok {
		return nil
	}
	r, _ := new(big.Rat).SetString(q.AsDec().String())
	return r
}

func sum(a, b *big.Rat) *big.Rat {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return new(big.Rat).Add(a, b)
}

func most(all ...*big.Rat) *big.Rat {
	var best *big.Rat
	for _, r := range all {
		if r != nil && (best == nil || r.Cmp(best) > 0) {
			best = r
		}
	}
	return best
}

// oracle computes one resource of a pod, container by container. of selects requests or limits.
type oracle struct {
	pod    *v1.Pod
	o      Options
	limits bool
	name   v1.ResourceName
}

func (x oracle) pick(r v1.ResourceRequirements) *big.Rat {
	if x.limits {
		return rat(r.Limits, x.name)
	}
	return rat(r.Requests, x.name)
}

func (x oracle) infeasible() bool {
	for _, c := range x.pod.Status.Conditions {
		if c.Type == v1.PodResizePending {
			return c.Reason == "Infeasible"
		}
	}
	return false
}

func (x oracle) resized(spec *big.Rat, actuated v1.ResourceRequirements, allocated v1.ResourceList) *big.Rat {
	held := rat(allocated, x.name)
	if x.limits {
		held = nil
	}
	if x.infeasible() {
		spec = nil
	}
	return most(spec, x.pick(actuated), held)
}

func (x oracle) container(c v1.Container, sidecar, isInit bool) *big.Rat {
	r := x.pick(c.Resources)
	if x.o.UseStatus && (sidecar || !isInit) {
		var status *v1.ContainerStatus
		for _, list := range [][]v1.ContainerStatus{x.pod.Status.ContainerStatuses, x.pod.Status.InitContainerStatuses} {
			for i := range list {
				if list[i].Name == c.Name {
					status = &list[i]
				}
			}
		}
		if status != nil && status.Resources != nil {
			r = x.resized(r, *status.Resources, status.AllocatedResources)
		}
	}
	if r == nil && !x.limits {
		r = rat(x.o.Missing, x.name)
	}
	return r
}

// walk returns the largest of the sum of what runs and of each step of the start.
func (x oracle) walk(of func(c v1.Container, sidecar, isInit bool) *big.Rat) *big.Rat {
	always := func(c v1.Container) bool { return c.RestartPolicy != nil && *c.RestartPolicy == "Always" }
	var running *big.Rat
	for _, c := range x.pod.Spec.Containers {
		running = sum(running, of(c, false, false))
	}
	var needs []*big.Rat
	for i, c := range x.pod.Spec.InitContainers {
		if always(c) {
			running = sum(running, of(c, true, true))
		}
		need := of(c, always(c), true)
		for _, before := range x.pod.Spec.InitContainers[:i] {
			if always(before) {
				need = sum(need, of(before, true, true))
			}
		}
		needs = append(needs, need)
	}
	return most(append(needs, running)...)
}

func (x oracle) total() *big.Rat {
	total := x.walk(x.container)
	if x.sumsFirst() {
		total = x.sums()
	}
	if whole := x.whole(); whole != nil {
		total = whole
	}
	if over := rat(x.pod.Spec.Overhead, x.name); over != nil && !x.o.IgnoreOverhead && (!x.limits || total != nil && total.Sign() != 0) {
		total = sum(total, over)
	}
	return total
}

func (x oracle) whole() *big.Rat {
	if x.o.IgnorePodLevel || x.pod.Spec.Resources == nil || !PodLevelSupported(x.name) {
		return nil
	}
	spec := x.pick(*x.pod.Spec.Resources)
	if !x.o.UseStatus || x.o.IgnorePodStatus || x.pod.Status.Resources == nil {
		return spec
	}
	if x.sumsFirst() {
		return x.held()
	}
	if spec == nil || !x.o.Release.AtLeast(release.V1_36) {
		return spec
	}
	if x.limits && x.pod.Status.Resources.Limits == nil {
		return spec
	}
	if r := x.resized(spec, *x.pod.Status.Resources, x.pod.Status.AllocatedResources); r != nil {
		return r
	}
	return new(big.Rat)
}

// integer rounds away from zero to the scheduler's unit, as Quantity does, and limits to int64.
func integer(name v1.ResourceName, r *big.Rat) int64 {
	n := new(big.Int).Set(r.Num())
	if name == v1.ResourceCPU {
		n.Mul(n, big.NewInt(1000))
	}
	q, m := new(big.Int).QuoRem(n, r.Denom(), new(big.Int))
	q.Add(q, big.NewInt(int64(m.Sign())))
	switch {
	case q.Cmp(big.NewInt(math.MaxInt64)) > 0:
		return math.MaxInt64
	case q.Cmp(big.NewInt(math.MinInt64)) < 0:
		return math.MinInt64
	}
	return q.Int64()
}

var names = []v1.ResourceName{"cpu", "memory", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi", "hugepages-1Gi", "foo", "pods", "CPU",
	"requests.example.com/x", "kubernetes.io/y", "attachable-volumes-z", "a.b/c"}

// compare compares every form of requests and limits with the oracle.
func compare(t testing.TB, pod *v1.Pod, o Options) {
	t.Helper()
	got, gotLimits, rows := Requests(pod, o), Limits(pod, o), map[v1.ResourceName]int64{}
	last := v1.ResourceName("")
	Each(pod, o, func(name v1.ResourceName, value int64) {
		require.True(t, last == "" || compareNames(last, name) < 0, "order of names")
		rows[name], last = value, name
	})
	schema := &resources.Schema{}
	row := AppendRequests(nil, schema, pod, o)
	require.Equal(t, row, AppendRequests(nil, schema, pod, o), "a schema that knows the names")
	parts := Explain(pod, o)
	require.Len(t, parts, len(got))
	for _, name := range names {
		want := oracle{pod, o, false, name}.total()
		q, ok := got[name]
		require.Equal(t, want != nil, ok, "%s named", name)
		value, counts := rows[name]
		c, column := schema.Column(name)
		if known := name != "pods" && name != "foo" && name != "CPU" && name != "requests.example.com/x"; ok && known {
			require.Zero(t, want.Cmp(rat(got, name)), "%s: want %s, got %s", name, want, q.String())
			require.True(t, counts && column, "%s counted", name)
			require.Equal(t, integer(name, want), value, "%s in integers", name)
			require.Equal(t, value, row.At(c), "%s in the row", name)
		} else {
			require.False(t, counts, "%s counted", name)
			require.Zero(t, row.At(c)*int64(bit(column)), "%s in the row", name)
		}
		limit := oracle{pod, o, true, name}.total()
		if ql, ok := gotLimits[name]; limit == nil || !ok {
			require.Equal(t, limit != nil, ok, "limit of %s named", name)
		} else {
			require.Zero(t, limit.Cmp(rat(gotLimits, name)), "limit of %s: want %s, got %s", name, limit, ql.String())
		}
	}
	for _, p := range parts {
		base := map[Phase]resource.Quantity{None: {}, Running: p.Running, Starting: p.Starting, PodLevel: p.PodLevel}[p.Phase]
		base = base.DeepCopy()
		base.Add(p.Overhead)
		require.Zero(t, base.Cmp(p.Total), "%s", p)
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// decoder makes a pod from bytes. Every edge below has its byte.
type decoder struct {
	*testkit.Bytes
	quantities []string
}

func newDecoder(data []byte) *decoder { return &decoder{testkit.NewBytes(data), quantities} }

var quantities = []string{"1", "0", "-1", "500m", "100u", "1500m", "1n", "1.5Gi", "128Mi", "2.0", "3k", "9223372036854775807", "-9223372036854775808", "9223372036854775", "10E", "7"}

func (d *decoder) list() v1.ResourceList {
	count := d.Below(5)
	if count == 0 {
		return nil
	}
	if d.Below(16) == 15 {
		count = len(names)
	}
	list := v1.ResourceList{}
	for range count {
		list[names[min(d.Below(2*len(names)), len(names)-1)*bit(d.Below(3) > 0)]] = resource.MustParse(d.quantities[d.Below(len(d.quantities))])
	}
	return list
}

func (d *decoder) requirements() v1.ResourceRequirements {
	return v1.ResourceRequirements{Requests: d.list(), Limits: d.list()}
}

func (d *decoder) statuses() (out []v1.ContainerStatus) {
	for range d.Below(4) {
		s := v1.ContainerStatus{Name: string(rune('a' + d.Below(4))), AllocatedResources: d.list()}
		if d.Below(4) > 0 {
			r := d.requirements()
			s.Resources = &r
		}
		out = append(out, s)
	}
	return out
}

func (d *decoder) pod() (*v1.Pod, Options) {
	o := Options{UseStatus: d.Below(2) == 1, IgnorePodLevel: d.Below(4) == 3, IgnorePodStatus: d.Below(4) == 3, IgnoreOverhead: d.Below(4) == 3}
	if d.Below(4) == 3 {
		o.Missing = d.list()
	}
	pod := &v1.Pod{}
	for range d.Below(4) {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: string(rune('a' + d.Below(4))), Resources: d.requirements()})
	}
	policies := []v1.ContainerRestartPolicy{"", v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyNever}
	for range d.Below(5) {
		c := v1.Container{Name: string(rune('a' + d.Below(4))), Resources: d.requirements()}
		if p := policies[d.Below(4)]; p != "" {
			c.RestartPolicy = &p
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	if d.Below(3) == 2 {
		pod.Spec.Overhead = d.list()
	}
	if d.Below(3) == 2 {
		r := d.requirements()
		pod.Spec.Resources = &r
	}
	pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = d.statuses(), d.statuses()
	if d.Below(2) == 1 {
		r := d.requirements()
		pod.Status.Resources, pod.Status.AllocatedResources = &r, d.list()
	}
	for range d.Below(3) {
		kind := []v1.PodConditionType{v1.PodResizePending, v1.PodResizeInProgress}[d.Below(2)]
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: kind, Reason: []string{"Infeasible", "Deferred"}[d.Below(2)]})
	}
	o.Release = testkit.Pick(d.Bytes, release.Current, release.V1_36, release.V1_35)
	return pod, o
}

// The defaults of scoring, computed by the oracle.
func compareNonZero(t testing.TB, pod *v1.Pod) {
	t.Helper()
	defaults := v1.ResourceList{v1.ResourceCPU: *milli(100), v1.ResourceMemory: *resource.NewQuantity(200<<20, resource.BinarySI)}
	expect := func(o Options, name v1.ResourceName) int64 {
		if r := (oracle{pod, o, false, name}).total(); r != nil {
			return integer(name, r)
		}
		return 0
	}
	wholeSet := false
	if r := pod.Spec.Resources; r != nil {
		for name := range r.Requests {
			wholeSet = wholeSet || PodLevelSupported(name)
		}
	}
	onNode := func(name v1.ResourceName) int64 {
		if wholeSet && (oracle{pod, Options{UseStatus: true}, false, name}).total() != nil {
			return expect(Options{UseStatus: true}, name)
		}
		return expect(Options{UseStatus: true, Missing: defaults}, name)
	}
	cpu, memory := NonZero(pod, release.Current)
	require.Equal(t, [2]int64{onNode("cpu"), onNode("memory")}, [2]int64{cpu, memory}, "on a node")
	incoming := Options{IgnorePodLevel: true, Missing: defaults}
	cpu, memory = NonZeroIncoming(pod)
	require.Equal(t, [2]int64{expect(incoming, "cpu"), expect(incoming, "memory")}, [2]int64{cpu, memory}, "incoming")
}

func checkBytes(t testing.TB, data []byte) {
	pod, o := newDecoder(data).pod()
	testkit.Unchanged(t, func() {
		compare(t, pod, o)
		compareNonZero(t, pod)
		Default(pod)
	}, pod)
}

// RandomPod returns the pod that the bytes describe, for tests of the packages that import this one.
func RandomPod(data []byte) *v1.Pod {
	pod, _ := newDecoder(data).pod()
	return pod
}

func TestRequestsAgainstOracle(t *testing.T) {
	for seed := range testkit.Rounds(500) {
		checkBytes(t, testkit.RandomBytes(uint64(seed), seed*37%400))
	}
}

// Small whole amounts go the short way over integers.
func TestWholeRequestsAgainstOracle(t *testing.T) {
	for seed := range testkit.Rounds(700) {
		pod, o := (&decoder{testkit.NewBytes(testkit.RandomBytes(uint64(seed), seed*37%300)), []string{"0", "1", "2", "3", "4", "-1", "7", "12"}}).pod()
		compare(t, pod, o)
		compareNonZero(t, pod)
	}
}

func FuzzRequests(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0, 0, 0, 2, 0, 3, 0, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Fuzz(func(t *testing.T, data []byte) { checkBytes(t, data) })
}
