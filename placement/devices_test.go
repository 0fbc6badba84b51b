package placement

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
)

// gpuSlice publishes n devices on a node: gpu-0, gpu-1 and so on in pool NODE of driver gpu.example.com.
func gpuSlice(node string, n int) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-gpus"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
	}}
	for k := range n {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: "gpu-" + string(rune('0'+k))})
	}
	return s
}

// gpuClass is a class without selectors.
func gpuClass(extended string) *resourcev1.DeviceClass {
	c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	if extended != "" {
		c.Spec.ExtendedResourceName = &extended
	}
	return c
}

func gpuSpec(count int64) resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count,
	}}}}}
}

// gpuClaim asks for devices of the class gpu.
func gpuClaim(name string, count int64) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Spec: gpuSpec(count)}
}

// claiming makes a pod use claims.
func claiming(pod *v1.Pod, claims ...string) *v1.Pod {
	for _, name := range claims {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: name, ResourceClaimName: &name})
	}
	return pod
}

// given writes an allocation as "claim: device device".
func given(d devices.Allocation) (out []string) {
	for k, c := range d.Claims {
		line := c.Name + ":"
		for _, r := range d.Results[k].Devices.Results {
			line += " " + r.Pool + "/" + r.Device
		}
		out = append(out, line)
	}
	return out
}

// claimsOf writes the claims of a snapshot as "claim: device for pod".
func claimsOf(s *cluster.Snapshot) (out []string) {
	for c := range cluster.List[*resourcev1.ResourceClaim](s).All() {
		line := c.Name + ":"
		if c.Status.Allocation != nil {
			for _, r := range c.Status.Allocation.Devices.Results {
				line += " " + r.Pool + "/" + r.Device
			}
		}
		for _, r := range c.Status.ReservedFor {
			line += " for " + r.Name
		}
		out = append(out, line)
	}
	return out
}

func gpuCluster(t *testing.T, claims ...*resourcev1.ResourceClaim) (*Placer, *cluster.Snapshot) {
	return placerOf(t, cluster.Objects{
		Nodes: threeZones(), ResourceClaims: claims, DeviceClasses: []*resourcev1.DeviceClass{gpuClass("")},
		ResourceSlices: []*resourcev1.ResourceSlice{gpuSlice("a2", 2), gpuSlice("b2", 1)},
	})
}

// Pods with claims go where devices are free. Assume allocates, Forget gives back.
func TestDevices(t *testing.T) {
	p, s := gpuCluster(t, gpuClaim("one", 1), gpuClaim("two", 1), gpuClaim("three", 1), gpuClaim("four", 1))
	pods := map[string]*v1.Pod{}
	for _, name := range []string{"one", "two", "three", "four"} {
		pods[name] = claiming(testkit.Pod("pod-"+name).Obj(), name)
	}
	before := claimsOf(s)
	d := p.Decide(pods["one"], Options{})
	require.Equal(t, 2, d.Feasible)
	require.Equal(t, []string{"one: " + d.Node + "/gpu-0"}, given(d.Devices))
	require.NoError(t, p.Assume(pods["one"], d))
	require.Contains(t, claimsOf(s), "one: "+d.Node+"/gpu-0 for pod-one")
	for _, name := range []string{"two", "three"} {
		d := p.Decide(pods[name], Options{})
		require.True(t, d.Placed(), name)
		require.NoError(t, p.Assume(pods[name], d))
	}
	full := p.Decide(pods["four"], Options{})
	require.Equal(t, "0/5 nodes are available: 5 cannot allocate all claims.", full.Failure.Text())
	require.Equal(t, []string{"DynamicResources"}, full.Failure.Rejecters)

	require.NoError(t, p.Forget(pods["two"]))
	require.True(t, p.Decide(pods["four"], Options{}).Placed())
	require.NoError(t, p.Forget(pods["three"]))
	require.NoError(t, p.Forget(pods["one"]))
	require.Equal(t, before, claimsOf(s))
}

// A claim that several pods use stays allocated until the last of them leaves; its allocation holds the pods on one node.
func TestSharedClaim(t *testing.T) {
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		p, s := gpuCluster(t, gpuClaim("shared", 1))
		before := claimsOf(s)
		pods := map[string]*v1.Pod{"a": claiming(testkit.Pod("a").Obj(), "shared"), "b": claiming(testkit.Pod("b").Obj(), "shared")}
		first := p.Decide(pods["a"], Options{})
		require.NoError(t, p.Assume(pods["a"], first))
		second := p.Decide(pods["b"], Options{})
		require.Equal(t, first.Node, second.Node)
		require.Equal(t, 1, second.Feasible)
		require.Empty(t, second.Devices.Claims)
		require.NoError(t, p.Assume(pods["b"], second))
		require.Equal(t, []string{"shared: " + first.Node + "/gpu-0 for a for b"}, claimsOf(s))
		require.NoError(t, p.Forget(pods[order[0]]))
		require.Equal(t, []string{"shared: " + first.Node + "/gpu-0 for " + order[1]}, claimsOf(s))
		require.NoError(t, p.Forget(pods[order[1]]))
		require.Equal(t, before, claimsOf(s))
	}
}

// Rollback takes allocations back, and a fork has its own.
func TestDevicesRollbackAndFork(t *testing.T) {
	p, s := gpuCluster(t, gpuClaim("all", 2), gpuClaim("late", 2))
	a, b := claiming(testkit.Pod("a").Obj(), "all"), claiming(testkit.Pod("b").Obj(), "late")
	mark := s.Mark()
	d := p.Decide(a, Options{})
	require.NoError(t, p.Assume(a, d))
	require.False(t, p.Decide(b, Options{}).Placed())
	fork, err := p.WithNodes()
	require.NoError(t, err)
	require.True(t, s.Rollback(mark))
	require.True(t, p.Decide(b, Options{}).Placed())
	require.False(t, fork.Decide(b, Options{}).Placed(), "the fork has the allocation")
	require.NoError(t, fork.Forget(a))
	require.True(t, fork.Decide(b, Options{}).Placed())

	decisions, err := p.PlaceAll([]*v1.Pod{a, b}, Options{})
	var none *NoPlaceError
	require.ErrorAs(t, err, &none)
	require.Len(t, decisions, 2)
	require.Equal(t, []string{"all:", "late:"}, claimsOf(s), "all or none")
}

// A failed Assume leaves snapshot, claims and reservations as they were.
func TestDevicesFailedAssume(t *testing.T) {
	type world struct {
		*testing.T
		p *Placer
		s *cluster.Snapshot
	}
	set := func(w world, c *resourcev1.ResourceClaim) { require.NoError(w, w.s.Set(c)) }
	for name, change := range map[string]func(w world, claim *resourcev1.ResourceClaim){
		"claim default/k got deleted in the meantime": func(w world, claim *resourcev1.ResourceClaim) { require.NoError(w, w.s.Remove(claim)) },
		"claim default/k got deleted in the meantime: ": func(w world, claim *resourcev1.ResourceClaim) {
			c := claim.DeepCopy()
			now := metav1.Now()
			c.DeletionTimestamp = &now
			set(w, c)
		},
		"claim default/k got deleted in the meantime: another": func(w world, claim *resourcev1.ResourceClaim) {
			c := claim.DeepCopy()
			c.UID = "another"
			set(w, c)
		},
		"claim default/k got allocated elsewhere in the meantime": func(w world, claim *resourcev1.ResourceClaim) {
			other := claiming(testkit.Pod("other").Obj(), "k")
			require.NoError(w, w.p.Assume(other, w.p.Decide(other, Options{})))
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, claim := gpuClaim("first", 1), gpuClaim("k", 1)
			p, s := gpuCluster(t, first, claim)
			pod := claiming(testkit.Pod("p").Obj(), "first", "k")
			d := p.Decide(pod, Options{})
			require.True(t, d.Placed())
			change(world{t, p, s}, claim)
			before := claimsOf(s)
			err := p.Assume(pod, d)
			want, _, _ := strings.Cut(name, ": ")
			require.ErrorContains(t, err, want)
			require.Nil(t, s.Pod("default", "p"))
			require.Equal(t, before, claimsOf(s))
			require.Error(t, p.Forget(pod))
			require.Equal(t, before, claimsOf(s))
		})
	}
}

// An extended resource that a class provides is allocated as a claim of the pod. Nodes that offer the resource themselves are
// checked by NodeResourcesFit alone.
func TestExtendedResource(t *testing.T) {
	nodes := threeZones()
	offer := testkit.Resources("example.com/gpu=1")["example.com/gpu"]
	nodes[0].Status.Allocatable["example.com/gpu"] = offer
	p, s := placerOf(t, cluster.Objects{Nodes: nodes, ResourceSlices: []*resourcev1.ResourceSlice{gpuSlice("a2", 2), gpuSlice("b2", 1)}})
	ask := func(name string) *v1.Pod { return testkit.Pod(name).Request("example.com/gpu=1").Obj() }
	require.Equal(t, "a1", p.Decide(ask("a"), Options{}).Node, "no class provides the resource")
	require.NoError(t, s.Set(gpuClass("example.com/gpu")))
	require.Equal(t, 3, p.Decide(ask("a"), Options{}).Feasible, "a new class counts at once")
	var all []*v1.Pod
	for _, name := range []string{"a", "b", "c", "d"} {
		pod := ask(name)
		d := p.Decide(pod, Options{})
		require.True(t, d.Placed(), name)
		require.NoError(t, p.Assume(pod, d))
		all = append(all, pod)
		if d.Node == "a1" {
			require.Empty(t, d.Devices.Claims)
		} else {
			require.Contains(t, claimsOf(s), name+"-extended-resources: "+d.Devices.Results[0].Devices.Results[0].Pool+"/"+d.Devices.Results[0].Devices.Results[0].Device+" for "+name)
			stored, err := json.Marshal(d)
			require.NoError(t, err)
			require.Contains(t, string(stored), `"claim":"default/`+name+`-extended-resources"`)
		}
	}
	require.Equal(t, "0/5 nodes are available: 1 Insufficient example.com/gpu, 4 cannot allocate all claims.", p.Decide(ask("e"), Options{}).Failure.Text())
	for _, pod := range all {
		require.NoError(t, p.Forget(pod))
	}
	require.Empty(t, claimsOf(s))
	require.NoError(t, s.Remove(gpuClass("")))
	require.Equal(t, "a1", p.Decide(ask("a"), Options{}).Node)
	require.Equal(t, 1, p.Decide(ask("a"), Options{}).Feasible)
}

// errNoCEL is the text of the error without a compiler.
const errNoCEL = "no compiler of CEL expressions was given"

// Without a compiler a selector is an error that says so.
func TestDevicesWithoutCompiler(t *testing.T) {
	class := gpuClass("")
	class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "true"}}}
	p, _ := placerOf(t, cluster.Objects{
		Nodes: threeZones(), ResourceClaims: []*resourcev1.ResourceClaim{gpuClaim("k", 1)}, DeviceClasses: []*resourcev1.DeviceClass{class},
		ResourceSlices: []*resourcev1.ResourceSlice{gpuSlice("a2", 2)},
	})
	d := p.Decide(claiming(testkit.Pod("p").Obj(), "k"), Options{})
	require.False(t, d.Placed())
	require.ErrorContains(t, d.Failure.Err, errNoCEL)
}

// Each copy of a pod has claims of its own from templates, made from the template or from the claim that the pod has. All
// copies share a claim that the pod names.
func TestHowManyWithClaims(t *testing.T) {
	entry := "gpu"
	fromTemplate := func() *v1.Pod {
		pod := testkit.Pod("web").Obj()
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: entry, ResourceClaimTemplateName: &entry}}
		return pod
	}
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: entry}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: gpuSpec(1)}}
	p, s := gpuCluster(t)
	room, err := p.HowMany(fromTemplate(), nil)
	require.NoError(t, err)
	require.Empty(t, room.Nodes, "there is no template")
	require.NoError(t, s.Set(template))
	room, err = p.HowMany(fromTemplate(), nil)
	require.NoError(t, err)
	require.Len(t, room.Nodes, 3)
	require.Equal(t, "0/5 nodes are available: 5 cannot allocate all claims.", room.Stop.Text())
	require.Empty(t, claimsOf(s), "all is taken back")

	require.NoError(t, s.Remove(template))
	pod, name := fromTemplate(), "web-gpu-x"
	generated := devices.ClaimFromTemplate(pod, entry, template, "x")
	require.NoError(t, s.Set(generated))
	pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: entry, ResourceClaimName: &name}}
	room, err = p.HowMany(pod, nil)
	require.NoError(t, err)
	require.Len(t, room.Nodes, 3)

	require.NoError(t, s.Set(gpuClaim("shared", 1)))
	room, err = p.HowMany(claiming(testkit.Pod("sharing").Request("cpu=1").Obj(), "shared"), nil)
	require.NoError(t, err)
	require.Len(t, room.Nodes, 4, "one node has four cores")
	require.NotContains(t, room.Nodes[1:], "a1")
}

// Templates: claims that do not exist yet are made from their templates, in the decision and by Assume.
func TestClaimsFromTemplates(t *testing.T) {
	entry := "gpu"
	pod := testkit.Pod("web").Obj()
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: entry, ResourceClaimTemplateName: &entry}}
	s, err := cluster.New(cluster.Objects{
		Nodes: threeZones(), DeviceClasses: []*resourcev1.DeviceClass{gpuClass("")}, ResourceSlices: []*resourcev1.ResourceSlice{gpuSlice("a2", 1)},
		ResourceClaimTemplates: []*resourcev1.ResourceClaimTemplate{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: entry}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: gpuSpec(1)}}},
	})
	require.NoError(t, err)
	off, err := NewPlacer(s, DefaultProfile())
	require.NoError(t, err)
	require.Equal(t, `0/5 nodes are available: pod "default/web": ResourceClaim not created yet.`, off.Decide(pod, Options{}).Failure.Text())
	on, err := NewPlacer(s, PluginArgs{Devices: tracker.Options{Templates: true}}.Profile())
	require.NoError(t, err)
	d := on.Decide(pod, Options{})
	require.Equal(t, "a2", d.Node)
	require.NoError(t, on.Assume(pod, d))
	require.Equal(t, []string{"web-gpu-made: a2/gpu-0 for web"}, claimsOf(s))
	require.NoError(t, on.Forget(pod))
	require.Empty(t, claimsOf(s))
}

// An entry that needs no claim, as its status says, needs none in a copy of the pod either.
func TestHowManyWithAnEntryThatNeedsNoClaim(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones(), DeviceClasses: []*resourcev1.DeviceClass{gpuClass("")}})
	require.NoError(t, err)
	p, err := NewPlacer(s, PluginArgs{Devices: tracker.Options{Templates: true}}.Profile())
	require.NoError(t, err)
	entry, gone := "gpu", "gone"
	pod := testkit.Pod("web").Request("cpu=3").Obj()
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: entry, ResourceClaimTemplateName: &gone}}
	room, err := p.HowMany(pod, func(placed int) bool { return placed < 10 })
	require.NoError(t, err)
	require.Empty(t, room.Nodes, "the template is not there")
	pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "other"}, {Name: entry}}
	room, err = p.HowMany(pod, func(placed int) bool { return placed < 10 })
	require.NoError(t, err)
	require.Len(t, room.Nodes, 5)
}

// Attempts of pods with claims answer for their own pods, whatever is prepared in between.
func TestScoresOfEarlierAttempts(t *testing.T) {
	s, err := cluster.New(cluster.Objects{
		Nodes: threeZones(), DeviceClasses: []*resourcev1.DeviceClass{gpuClass("")},
		ResourceSlices: []*resourcev1.ResourceSlice{gpuSlice("a1", 2), gpuSlice("a2", 4)}, ResourceClaims: []*resourcev1.ResourceClaim{gpuClaim("one", 1), gpuClaim("four", 4)},
	})
	require.NoError(t, err)
	profile := DefaultProfile()
	dra := profile.Filter("DynamicResources")
	profile.Scores = []Weighted{{dra, 1}}
	p, err := New(s, profile)
	require.NoError(t, err)
	pod := func(claim string) *v1.Pod {
		pod := testkit.Pod(claim).Obj()
		pod.Spec.ResourceClaims = claiming(testkit.Pod(claim).Obj(), claim).Spec.ResourceClaims
		return pod
	}
	slots := []int{s.Slot("a1"), s.Slot("a2")}
	one, plain := p.Prepare(pod("one")), p.Prepare(testkit.Pod("plain").Obj())
	columns, _, err := one.Scores(slots)
	require.NoError(t, err)
	require.Len(t, columns, 1)
	columns, _, err = plain.Scores(slots)
	require.NoError(t, err)
	require.Empty(t, columns, "a pod without claims")
	first, second := p.Prepare(pod("one")), p.Prepare(pod("four"))
	require.True(t, p.Prepare(pod("gone")).Rejected())
	require.Equal(t, []string{"one: a1/gpu-0"}, given(devicesOn(slots[0], first.Predicates)))
	columns, _, err = first.Scores(slots)
	require.NoError(t, err)
	require.Len(t, columns, 1)
	columns, _, err = second.Scores(slots[1:])
	require.NoError(t, err)
	require.Len(t, columns, 1)
}

// Rules U8.3 and U8.6: preemption frees the cpu of victims and none of their devices, as in v1.36.
func TestPreemptionFreesNoDevices(t *testing.T) {
	type test struct {
		name, why string
		gpus      int
		cpu       string
		failure   string
		node      string
		message   string
	}
	testkit.Run(t, []test{
		{"one GPU and no cpu", "the dry run still sees the victim's GPU in use", 1, "cpu=2", "0/1 nodes are available: 1 Insufficient cpu.", "",
			"0/1 nodes are available: 1 cannot allocate all claims."},
		{"one GPU", "a node without devices is no candidate", 1, "cpu=0", "0/1 nodes are available: 1 cannot allocate all claims.", "",
			"0/1 nodes are available: 1 Preemption is not helpful for scheduling."},
		{"two GPUs", "the second GPU is free", 2, "cpu=2", "0/1 nodes are available: 1 Insufficient cpu.", "n1", ""},
	}, func(t *testing.T, c test) {
		p, _ := placerOf(t, cluster.Objects{
			Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=2").Obj()}, ResourceSlices: []*resourcev1.ResourceSlice{gpuSlice("n1", c.gpus)},
			DeviceClasses: []*resourcev1.DeviceClass{gpuClass("")}, ResourceClaims: []*resourcev1.ResourceClaim{gpuClaim("low", 1), gpuClaim("high", 1)},
		})
		low := claiming(testkit.Pod("low").Request("cpu=2").Obj(), "low")
		require.NoError(t, p.Assume(low, p.Decide(low, Options{})))
		high := claiming(testkit.Pod("high").Priority(10).Request(c.cpu).Obj(), "high")
		d := p.Decide(high, Options{})
		require.False(t, d.Placed())
		require.Equal(t, c.failure, d.Failure.Text())
		r := p.Preempt(high, d.Failure, Options{}, PreemptOptions{})
		require.Equal(t, c.node, r.Node)
		if c.message != "" {
			require.Equal(t, c.message, r.Message)
		}
	})
}

// U-134: NodeResourcesFit leaves an extended resource of a device class to DynamicResources where the node offers none.
func TestFitWithDeviceClass(t *testing.T) {
	const gpu = "example.com/gpu"
	s, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{
			testkit.Node("n1").Obj(), testkit.Node("n2").Capacity(gpu + "=4").Obj(),
			testkit.Node("n3").Capacity(gpu + "=1").Obj(), testkit.Node("n4").Capacity(gpu + "=0").Obj(),
		},
		DeviceClasses: []*resourcev1.DeviceClass{gpuClass(gpu)}, ResourceSlices: []*resourcev1.ResourceSlice{gpuSlice("n1", 4)},
	})
	require.NoError(t, err)
	fit := newNodeResourcesFit(FitOptions{}, tracker.Options{}).Filter(testkit.Pod("p").Request(gpu+"=2").Obj(), s).Predicate
	var got []string
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		v := fit.Check(s.Slot(name))
		got = append(got, strings.Join(append([]string{name}, fit.Reasons(v)...), " "))
	}
	require.Equal(t, []string{"n1", "n2", "n3 Insufficient " + gpu, "n4"}, got)
}

// What claims get is stored by name, and a rejection says what was left.
func TestDevicesInWords(t *testing.T) {
	p, _ := gpuCluster(t, gpuClaim("two", 2), gpuClaim("three", 3), gpuClaim("small", 1))
	d := p.Decide(claiming(testkit.Pod("p").Obj(), "two"), Options{})
	stored, err := json.Marshal(d)
	require.NoError(t, err)
	require.JSONEq(t, `{"node":"a2","total":0,"nodes":5,"evaluated":5,"feasible":1,"devices":[{"claim":"default/two","devices":[
		{"request":"gpu","device":"gpu.example.com/a2/gpu-0"},{"request":"gpu","device":"gpu.example.com/a2/gpu-1"}]}]}`, string(stored))

	numbers := func(pod *v1.Pod) map[string][]string {
		table, err := p.Table(pod)
		require.NoError(t, err)
		out := map[string][]string{}
		for _, n := range table {
			for _, r := range n.Rejections {
				out[n.Node] = r.Numbers
			}
		}
		return out
	}
	large := claiming(testkit.Pod("large").Obj(), "three")
	require.Equal(t, []string{"claim default/three, request gpu: wants 3, 2 of 2 devices left"}, numbers(large)["a2"])
	require.Equal(t, []string{"claim default/three, request gpu: wants 3, 0 of 0 devices left"}, numbers(large)["c1"])

	pod := claiming(testkit.Pod("first").Obj(), "small")
	require.NoError(t, p.Assume(pod, p.Decide(pod, Options{})))
	require.Equal(t, []string{"claim default/small has devices that this node cannot use: gpu.example.com/a2/gpu-0"}, numbers(claiming(testkit.Pod("second").Obj(), "small"))["b2"])
	require.Equal(t, []string{"claim default/two, request gpu: wants 2, 1 of 2 devices left; 1 fail the test: is not in use (held by claim default/small)"}, numbers(claiming(testkit.Pod("third").Obj(), "two"))["a2"])

	p, _ = gpuCluster(t, gpuClaim("two", 2), gpuClaim("small", 1))
	require.NoError(t, p.profile.Devices.Reserve(pod, p.Decide(pod, Options{}).Devices))
	require.Equal(t, []string{"claim default/two, request gpu: wants 2, 1 of 2 devices left; 1 fail the test: is not in use (held by claim default/small in flight)"}, numbers(claiming(testkit.Pod("third").Obj(), "two"))["a2"])
}

// With VictimsFree preemption finds the pods whose devices the pod needs. A claim that another pod uses too stays allocated.
// Without the option preemption cannot help, as in v1.36.
func TestVictimsFree(t *testing.T) {
	for _, free := range []bool{false, true} {
		s, err := cluster.New(cluster.Objects{
			Nodes: threeZones(), DeviceClasses: []*resourcev1.DeviceClass{gpuClass("")},
			ResourceSlices: []*resourcev1.ResourceSlice{gpuSlice("a2", 1), gpuSlice("b2", 1)},
			ResourceClaims: []*resourcev1.ResourceClaim{gpuClaim("shared", 1), gpuClaim("own", 1), gpuClaim("new", 1)},
		})
		require.NoError(t, err)
		p, err := NewPlacer(s, PluginArgs{Devices: tracker.Options{VictimsFree: free}}.Profile())
		require.NoError(t, err)
		low := func(name, claim string, priority int32) *v1.Pod {
			pod := claiming(testkit.Pod(name).Obj(), claim)
			pod.Spec.Priority = &priority
			return pod
		}
		sharing := []*v1.Pod{low("a", "shared", 0), low("b", "shared", 100)}
		own := low("c", "own", 1)
		for _, pod := range append(sharing, own) {
			place(t, p, pod)
		}
		pod := low("vip", "new", 10)
		d := p.Decide(pod, Options{})
		require.Equal(t, "0/5 nodes are available: 5 cannot allocate all claims.", d.Failure.Text())
		result := p.Preempt(pod, d.Failure, Options{}, PreemptOptions{})
		if !free {
			require.Empty(t, result.Victims)
			continue
		}
		require.Len(t, result.Victims, 1)
		require.Equal(t, own, result.Victims[0].Pod, "b has a higher priority and keeps the shared claim")
		require.Equal(t, d.Failure.Text(), p.Decide(pod, Options{}).Failure.Text(), "nothing is free yet")
		require.NoError(t, p.Forget(own))
		require.Equal(t, result.Node, p.Decide(pod, Options{}).Node)
	}
}

// With VictimsFree preemption finds victims also for a pod whose decision used kept work.
func TestVictimsFreeAgain(t *testing.T) {
	s, err := cluster.New(cluster.Objects{
		Nodes: threeZones(), DeviceClasses: []*resourcev1.DeviceClass{gpuClass("")}, ResourceSlices: []*resourcev1.ResourceSlice{gpuSlice("a2", 1)},
		ResourceClaims: []*resourcev1.ResourceClaim{gpuClaim("own", 1), gpuClaim("first", 1), gpuClaim("second", 1), gpuClaim("third", 1)},
	})
	require.NoError(t, err)
	p, err := NewPlacer(s, PluginArgs{Devices: tracker.Options{VictimsFree: true}}.Profile())
	require.NoError(t, err)
	own := claiming(testkit.Pod("own").Obj(), "own")
	place(t, p, own)
	for _, claim := range []string{"first", "second", "third"} {
		pod := claiming(testkit.Pod(claim).Priority(10).Obj(), claim)
		d := p.Decide(pod, Options{})
		require.True(t, used(p.Plan, pod))
		require.Equal(t, "0/5 nodes are available: 5 cannot allocate all claims.", d.Failure.Text())
		result := p.Preempt(pod, d.Failure, Options{}, PreemptOptions{})
		require.Len(t, result.Victims, 1, claim)
		require.Equal(t, own, result.Victims[0].Pod)
	}
}

// The plugin alone, over no plan, reads the devices of the cluster for each pod and keeps no work.
func TestDevicesOfAPluginAlone(t *testing.T) {
	_, s := gpuCluster(t, gpuClaim("one", 1), gpuClaim("three", 3))
	plugin, err := PluginArgs{}.Plugin("DynamicResources")
	require.NoError(t, err)
	pod := claiming(testkit.Pod("p").Obj(), "one")
	f := plugin.Filter(pod, s)
	require.Equal(t, filter.Success, f.Code)
	for _, n := range []string{"a1", "a2", "b1", "b2", "c1"} {
		require.Equal(t, n == "a2" || n == "b2", f.Predicate.Check(s.Slot(n)) == 0, n)
	}
	scorer, err := plugin.Score(pod, s)
	require.NoError(t, err)
	require.NotNil(t, scorer)
	require.Equal(t, filter.Skip, plugin.Filter(testkit.Pod("plain").Obj(), s).Code)
	scorer, err = plugin.Score(testkit.Pod("plain").Obj(), s)
	require.NoError(t, err)
	require.Nil(t, scorer)
	gone := plugin.Filter(claiming(testkit.Pod("p").Obj(), "gone"), s)
	require.Equal(t, filter.UnschedulableAndUnresolvable, gone.Code)
	require.Len(t, gone.Reasons, 1)
	counting := plugin.states(s)
	_, err = counting.Compile(pod)
	require.ErrorIs(t, err, errClaimsApart)
	key, ok := counting.(claimCounting).AppendPodKey([]byte("k"), pod)
	require.False(t, ok)
	require.Equal(t, "k", string(key))
	require.Zero(t, counting.(claimCounting).Epoch())
}

// Events of claims and of the pod itself are judged by their rules, in the direction of the event. Every other event may help.
func TestDeviceHints(t *testing.T) {
	_, s := gpuCluster(t, gpuClaim("one", 1), gpuClaim("other", 1))
	hint := DefaultProfile().Filter("DynamicResources").Hint(s)
	pod := claiming(testkit.Pod("p").Obj(), "one")
	allocated := gpuClaim("other", 1)
	allocated.Status.Allocation = &resourcev1.AllocationResult{}
	mine, other := gpuClaim("one", 1), testkit.Pod("q").Obj()
	waits := claiming(testkit.Pod("p").Obj(), "gone")
	type test struct {
		name     string
		pod      *v1.Pod
		old, new any
		want     bool
	}
	testkit.Run(t, []test{
		{"devices became free", pod, allocated, gpuClaim("other", 1), true},
		{"devices were taken", pod, gpuClaim("other", 1), allocated, false},
		{"the claim came", pod, nil, mine, true},
		{"another claim came", pod, nil, gpuClaim("other", 1), false},
		{"an allocated claim went", pod, allocated, nil, true},
		{"another claim went", pod, gpuClaim("other", 1), nil, false},
		{"a claim is missing", waits, allocated, gpuClaim("other", 1), false},
		{"the pod changed", pod, pod, pod, true},
		{"the pod changed and waits on", waits, waits, waits, false},
		{"another pod changed", pod, other, other, false},
		{"the pod's claim was made", waits, waits, pod, true},
		{"the pod's claim went", waits, pod, waits, false},
		{"the pod came", pod, nil, pod, true},
		{"a pod went", pod, other, nil, false},
		{"a node", pod, nil, s.Node(0), true},
		{"a slice", pod, gpuSlice("a2", 1), nil, true},
	}, func(t *testing.T, c test) {
		got, err := hint(c.pod, c.old, c.new)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	})
	_, err := hint(pod, mine, other)
	require.Error(t, err)

	fit := DefaultProfile().Filter("NodeResourcesFit").Hint(s)
	asks := testkit.Pod("p").Request("example.com/gpu=1").Obj()
	var none *resourcev1.DeviceClass
	for _, c := range []struct {
		old, new any
		want     bool
	}{
		{nil, gpuClass("example.com/gpu"), true}, {gpuClass(""), gpuClass("example.com/gpu"), true}, {gpuClass("example.com/gpu"), gpuClass("example.com/gpu"), false},
		{nil, gpuClass("example.com/fpga"), false}, {nil, gpuClass(""), false}, {gpuClass("example.com/gpu"), gpuClass(""), false}, {gpuClass("example.com/gpu"), nil, false},
	} {
		got, err := fit(asks, c.old, c.new)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%v", c)
	}
	require.Equal(t, any(none), deviceClass(none))
	require.Equal(t, any(pod), deviceClass(pod))
}
