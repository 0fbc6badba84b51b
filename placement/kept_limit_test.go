package placement

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// The first pod with an allocated claim that names no nodes shares no work, the next pods with that claim do. Beyond a limit the plan forgets which
// claims it has seen. A pod whose allocation names a node shares work from the first on.
func TestAllocatedClaimsSeenBefore(t *testing.T) {
	ofZone := func(zone string) *resourcev1.ResourceSlice {
		s := gpuSlice("zone-"+zone, 1)
		s.Spec.NodeName, s.Spec.NodeSelector = nil, &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}}}}}
		return s
	}
	p, _ := placerOf(t, cluster.Objects{
		Nodes: threeZones(), DeviceClasses: []*resourcev1.DeviceClass{gpuClass("")},
		ResourceClaims: []*resourcev1.ResourceClaim{gpuClaim("x", 1), gpuClaim("y", 1), gpuClaim("z", 1), gpuClaim("named", 1), gpuClaim("free", 1)},
		ResourceSlices: []*resourcev1.ResourceSlice{ofZone("a"), ofZone("b"), ofZone("c"), gpuSlice("a2", 2)},
	})
	for _, claim := range []string{"x", "y", "z"} {
		place(t, p, claiming(testkit.Pod(claim).NodeSelector(v1.LabelTopologyZone+"="+map[string]string{"x": "a", "y": "b", "z": "c"}[claim]).Obj(), claim))
	}
	place(t, p, claiming(testkit.Pod("named").NodeSelector(v1.LabelHostname+"=a2").Obj(), "named"))
	k := devicesOver(tracker.Options{}, p.profile.Devices).states(p.cluster).(claimCounting)
	shares := func(claim string) bool {
		key, ok := k.AppendPodKey([]byte("k"), claiming(testkit.Pod("more").Obj(), claim))
		require.Equal(t, ok, len(key) > 1)
		return ok
	}
	require.True(t, shares("free"), "a claim without an allocation")
	require.True(t, shares("named"), "it names a node")
	require.Empty(t, k.x.again)
	for _, want := range []bool{false, true, true} {
		for _, claim := range []string{"x", "y"} {
			require.Equal(t, want, shares(claim), claim)
		}
	}
	require.Len(t, k.x.again, 2)
	for n := 2; n < maxFirst; n++ {
		k.x.again[-n] = true
	}
	require.True(t, shares("x"), "as many as the limit")
	require.False(t, shares("z"), "one more")
	require.Len(t, k.x.again, 1)
	require.True(t, shares("z"))
	require.False(t, shares("x"), "forgotten")
}

// The key of a score over devices changes with the devices for the pods that ask for them alone.
func TestKeyOfScoredDevices(t *testing.T) {
	const gpu = "example.com/gpu"
	s, err := cluster.New(cluster.Objects{Nodes: threeZones(), ResourceSlices: []*resourcev1.ResourceSlice{gpuSlice("a2", 2)}, ResourceClaims: []*resourcev1.ResourceClaim{gpuClaim("x", 1)}})
	require.NoError(t, err)
	p, err := NewPlacer(s, PluginArgs{NodeResourcesFit: FitOptions{Args: score.FitArgs{ScoringStrategy: &score.Strategy{Resources: []score.Resource{{Name: gpu, Weight: 1}}}}}}.Profile())
	require.NoError(t, err)
	fit := p.profile.Filter("NodeResourcesFit")
	key := func(b testkit.PodBuilder) string { return string(fit.AppendKey(nil, b.Obj())) }
	plain, asking, none := testkit.Pod("p").Request("cpu=1"), testkit.Pod("p").Request(gpu+"=1"), testkit.Pod("p").Request("cpu=1,"+gpu+"=0")
	keys := func() [3]string { return [3]string{key(plain), key(asking), key(none)} }
	require.NotEqual(t, key(plain), key(asking))
	before := keys()
	require.NoError(t, s.Set(gpuClass(gpu)))
	now := keys()
	require.Equal(t, before[0], now[0])
	require.NotEqual(t, before[1], now[1], "a class provides the resource")
	require.Equal(t, before[2], now[2], "the pod asks for none")
	before = now
	require.Equal(t, before, keys())
	require.NoError(t, s.Set(gpuSlice("b2", 1)))
	now = keys()
	require.Equal(t, before[0], now[0])
	require.NotEqual(t, before[1], now[1], "the devices have changed")
}

// The key of a pod that asks for devices of a class is another one when the class has gone, also when the class was there at first.
func TestKeyWithoutTheClass(t *testing.T) {
	const gpu = "example.com/gpu"
	s, err := cluster.New(cluster.Objects{Nodes: threeZones(), DeviceClasses: []*resourcev1.DeviceClass{gpuClass(gpu)}})
	require.NoError(t, err)
	p, err := NewPlacer(s, PluginArgs{NodeResourcesFit: FitOptions{Args: score.FitArgs{ScoringStrategy: &score.Strategy{Resources: []score.Resource{{Name: gpu, Weight: 1}}}}}}.Profile())
	require.NoError(t, err)
	key := func() string {
		return string(p.profile.Filter("NodeResourcesFit").AppendKey(nil, testkit.Pod("p").Request(gpu+"=1").Obj()))
	}
	before := key()
	require.NoError(t, s.Remove(gpuClass(gpu)))
	require.NotEqual(t, before, key())
}

// What is kept for preemptors has a limit: beyond it all kinds are dropped.
func TestLimitOfPreemptors(t *testing.T) {
	var o cluster.Objects
	for k := range 3 {
		n := fmt.Sprint("n", k)
		o.Nodes, o.Pods = append(o.Nodes, testkit.Node(n).Capacity("cpu=2").Obj()), append(o.Pods, testkit.Pod("low"+n).Request("cpu=2").On(n).Obj())
	}
	p, _ := planOf(t, o)
	preempt := func(priority int32) {
		pod := testkit.Pod("p").Priority(priority).Request("cpu=2").Obj()
		for range 3 {
			require.NotEmpty(t, p.Preempt(pod, p.Decide(pod, Options{}).Failure, Options{}, PreemptOptions{}).Node)
		}
	}
	preempt(1)
	kept := &p.preempter.preemptors
	require.Equal(t, 3, kept.slots)
	preempt(2)
	require.Len(t, kept.kinds, 2)
	require.Equal(t, 6, kept.slots)
	kept.slots = maxPreemptorSlots - 3
	preempt(3)
	require.Len(t, kept.kinds, 3, "as many as the limit")
	preempt(4)
	require.Len(t, kept.kinds, 1, "one kind more")
	require.Equal(t, 3, kept.slots)
}

// What is remembered of running pods has a limit too.
func TestLimitOfRunningPods(t *testing.T) {
	k := &running{kinds: map[any]int32{}, memo: map[any]any{}}
	for n := range maxKinds {
		k.kinds[n] = int32(n)
	}
	k.ask()
	require.Len(t, k.kinds, maxKinds, "as many as the limit")
	k.kinds["one more"] = maxKinds
	k.slots, k.effects, k.memo["a"] = make([]runningSlot, 2), make([][]hooks.Counter, maxKinds), 1
	k.slots[0].next = 1
	k.ask()
	require.Empty(t, k.kinds)
	require.Empty(t, k.effects)
	require.Empty(t, k.memo)
	require.Zero(t, k.slots[0].next)
}

// asking counts the nodes that it is asked about, and shares its answers between pods.
type asking struct {
	nothing
	asked *int
}

func (a asking) Check(int) resources.Verdict {
	*a.asked++
	return 0
}
func (asking) AppendSignature(dst []int32, _ int) []int32 { return dst }

// From the third on, preemptors of one kind ask no filter again, but for the nodes that changed.
func TestPreemptorsAskNoFilterAgain(t *testing.T) {
	var o cluster.Objects
	for k := range 6 {
		n := fmt.Sprint("n", k)
		low := testkit.Pod("low" + n).Request("cpu=2").On(n).Obj()
		started := metav1.NewTime(testkit.Epoch)
		low.Status.StartTime = &started
		o.Nodes, o.Pods = append(o.Nodes, testkit.Node(n).Capacity("cpu=2").Obj()), append(o.Pods, low)
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	n := 0
	profile := DefaultProfile()
	profile.Filters = append([]*Plugin{{Name: "Asking", Keep: KeepByNode, AppendKey: func(dst []byte, _ *v1.Pod) []byte { return dst },
		Filter: func(*v1.Pod, Cluster) PreFiltered { return PreFiltered{Predicate: asking{nothing{"Asking"}, &n}} }}}, profile.Filters...)
	p, err := New(s, profile)
	require.NoError(t, err)
	ask := func() int {
		n = 0
		pod := testkit.Pod("p").Priority(1).Request("cpu=2").Obj()
		r := p.Preempt(pod, p.Decide(pod, Options{}).Failure, Options{}, PreemptOptions{Now: testkit.Epoch.Add(time.Hour)})
		require.Equal(t, "n0", r.Node)
		return n
	}
	for range 3 {
		ask()
	}
	require.Zero(t, ask())
	require.NoError(t, s.Set(testkit.Pod("more").Priority(5).On("n3").Obj()))
	require.Positive(t, ask())
	require.Zero(t, ask())
}

// changes is a change log with some events, that begins at version 3.
type changes struct{ events []cluster.Event }

func (c changes) Version() uint64 { return 3 + uint64(len(c.events)) }
func (c changes) Since(version uint64, yield func([]cluster.Event)) bool {
	if version < 3 {
		return false
	}
	yield(c.events[version-3:])
	return true
}

func TestChangedSlots(t *testing.T) {
	log := changes{[]cluster.Event{{Node: 4}, {Node: view.Storage}, {Node: -1}, {Node: 0, Set: 1, N: 1}}}
	for _, c := range []struct {
		since uint64
		want  []int
	}{{7, nil}, {6, []int{0}}, {5, []int{0}}, {4, []int{0}}, {3, []int{4, 0}}, {2, []int{0, 1, 2, 3, 4}}, {0, []int{0, 1, 2, 3, 4}}} {
		var got []int
		require.Equal(t, uint64(7), changedSlots(log, 5, c.since, func(i int) { got = append(got, i) }))
		require.Equal(t, c.want, got, "since %d", c.since)
		require.Equal(t, uint64(7), changedSlots(log, 5, c.since, nil))
	}
}
