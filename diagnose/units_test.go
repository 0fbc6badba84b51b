package diagnose

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// begun returns a diagnosis that has not searched yet.
func begun(t *testing.T, objects cluster.Objects, pod *v1.Pod) *diagnosis {
	t.Helper()
	s, err := cluster.New(objects)
	require.NoError(t, err)
	d, err := begin(Input{Snapshot: s}, pod, Options{})
	require.NoError(t, err)
	return d
}

// Nodes that were taken out of a snapshot leave free slots, which change no answer.
func TestFreeSlots(t *testing.T) {
	for seed := range uint64(40) {
		ask := func(gone bool) string {
			b := testkit.NewBytes(testkit.RandomBytes(seed+6e6, 200))
			objects, pod := random(b)
			objects.PodDisruptionBudgets = randomBudgets(b)
			if gone {
				objects.Nodes = append(objects.Nodes, testkit.Node("gone").Zone("a").Capacity("cpu=99,memory=99Gi").Obj())
			}
			s, err := cluster.New(objects)
			require.NoError(t, err)
			if gone {
				require.NoError(t, s.Remove(s.Node(s.Slot("gone"))))
			}
			o := Options{Steps: 600}
			if seed%2 == 0 {
				o.Where = func(n *v1.Node) bool { return n.Name != "n1" && n.Name != "gone" }
			}
			d, err := Relax(Input{Snapshot: s}, pod, o)
			require.NoError(t, err)
			text, err := json.Marshal(d)
			require.NoError(t, err)
			return string(text)
		}
		require.JSONEq(t, ask(false), ask(true))
	}
}

// The texts of errors about the input.
func TestTextsOfErrors(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=4").Obj()}})
	require.NoError(t, err)
	pod := testkit.Pod("p").Obj()
	_, err = Compare(Input{Snapshot: s}, pod, "n9")
	require.EqualError(t, err, `diagnose: other: Not found: "n9": no such node in the cluster`)
	_, err = Compare(Input{Snapshot: s}, pod, "n1")
	require.EqualError(t, err, `diagnose: other: Invalid value: "n1": is the node of the decision`)
	_, err = ApplyFlip(s, pod, Flip{Kind: "request"})
	require.EqualError(t, err, `diagnose: flip: Invalid value: "request": is no flip of a Comparison`)
	_, err = Relax(Input{Snapshot: s, Profile: placement.Profile{Filters: []*placement.Plugin{nil}}}, pod, Options{})
	require.ErrorContains(t, err, "filters[0]: Required value")
}

// Only a request of several devices of one class can ask for fewer. A claim that is missing is no reason to say that the search was
// cut.
func TestChangesOfClaims(t *testing.T) {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
	exactly := func(count int64, mode resourcev1.DeviceAllocationMode) resourcev1.DeviceRequest {
		return resourcev1.DeviceRequest{Exactly: &resourcev1.ExactDeviceRequest{Count: count, AllocationMode: mode}}
	}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{
		{FirstAvailable: []resourcev1.DeviceSubRequest{{Count: 3}}}, exactly(3, resourcev1.DeviceAllocationModeAll), exactly(1, resourcev1.DeviceAllocationModeExactCount), exactly(2, resourcev1.DeviceAllocationModeExactCount),
	}
	list := claimChanges(c)
	require.Len(t, list, 1)
	require.Equal(t, []any{LowerCount, "spec.devices.requests[3].exactly.count", "2"}, []any{list[0].Kind, list[0].Path, list[0].From})

	idle := cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Obj()}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		idle.ResourceClaims = append(idle.ResourceClaims, &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{}},
		})
	}
	pod := testkit.Pod("p").Obj()
	ask := func() (int, bool) {
		s, err := cluster.New(idle)
		require.NoError(t, err)
		list, cut := deviceChanges(s, pod)
		return len(list), cut
	}
	n, cut := ask()
	require.Equal(t, []any{mostReleased, false}, []any{n, cut}, "six claims hold devices for no pod")
	more := idle.ResourceClaims[0].DeepCopy()
	more.Name = "g"
	idle.ResourceClaims = append(idle.ResourceClaims, more)
	n, cut = ask()
	require.Equal(t, []any{mostReleased, true}, []any{n, cut})
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "missing", ResourceClaimName: new("missing")}}
	n, cut = ask()
	require.Equal(t, []any{0, false}, []any{n, cut})
}

// A claim that went with its last pod stays away.
func TestClaimThatWent(t *testing.T) {
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	gone := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
	c := onClaim(gone, ReleaseClaim, "", "", func(*resourcev1.ResourceClaim, int64) { require.Fail(t, "there is no claim") })
	c.make(s, c)
	require.Empty(t, slices.Collect(cluster.List[*resourcev1.ResourceClaim](s).All()))
}

// Options that are not set have defaults. Negative Nodes mean none.
func TestDefaults(t *testing.T) {
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	for _, c := range [][2]Options{
		{{}, {Nodes: 3, Size: 4, Steps: defaultSteps}}, {{Nodes: -1, Size: -1, Steps: -1}, {Size: 4, Steps: defaultSteps}}, {{Nodes: 1, Size: 1, Steps: 1}, {Nodes: 1, Size: 1, Steps: 1}},
	} {
		d, err := begin(Input{Snapshot: s}, testkit.Pod("p").Obj(), c[0])
		require.NoError(t, err)
		require.Equal(t, []int{c[1].Nodes, c[1].Size, c[1].Steps}, []int{d.o.Nodes, d.o.Size, d.o.Steps})
		require.Equal(t, DefaultCost(Change{Kind: AddNode}), d.o.Cost(Change{Kind: AddNode}))
	}
}

// The users of a claim for one pod alone are the running pods of the namespace that mount it, whatever else pods mount.
func TestClaimUsers(t *testing.T) {
	mounts := func(p *v1.Pod, names ...string) *v1.Pod {
		p.Spec.Volumes = []v1.Volume{{Name: "own", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		for _, name := range names {
			p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
		}
		return p
	}
	claim := func(name string, mode v1.PersistentVolumeAccessMode) *v1.PersistentVolumeClaim {
		return &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{mode}}}
	}
	elsewhere := mounts(testkit.Pod("elsewhere").On("n1").Obj(), "alone")
	elsewhere.Namespace = "other"
	user := mounts(testkit.Pod("user").On("n2").Obj(), "shared", "alone")
	objects := cluster.Objects{Nodes: five()[:2], Claims: []*v1.PersistentVolumeClaim{claim("alone", v1.ReadWriteOncePod), claim("shared", v1.ReadWriteMany)},
		Pods: []*v1.Pod{elsewhere, user, mounts(testkit.Pod("none").On("n1").Obj()), mounts(testkit.Pod("shares").On("n1").Obj(), "shared")}}
	require.Equal(t, []*v1.Pod{user}, begun(t, objects, mounts(testkit.Pod("p").Obj(), "missing", "shared", "alone")).claimUsers())
	require.Empty(t, begun(t, objects, mounts(testkit.Pod("p").Obj(), "missing", "shared")).claimUsers())
	require.Empty(t, begun(t, objects, mounts(testkit.Pod("p").Obj())).claimUsers())
}

// Required terms of node affinity become preferences of the largest weight: those that name labels and nothing else.
func TestPreferNodes(t *testing.T) {
	named := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpExists}}}
	field := v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}}}
	both := v1.NodeSelectorTerm{MatchExpressions: named.MatchExpressions, MatchFields: field.MatchFields}
	p := testkit.Pod("p").RequireNodes(v1.NodeSelectorTerm{}, named, field, both).Obj()
	preferNodes(p)
	require.Nil(t, p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	require.Equal(t, []v1.PreferredSchedulingTerm{{Weight: 100, Preference: named}}, p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	preferNodes(p)
	require.Len(t, p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution, 1)
	for _, other := range []*v1.Pod{testkit.Pod("p").Obj(), p} { // of a pod without required terms there is nothing to take
		was := other.DeepCopy()
		preferNodes(other)
		dropRequirement(other, 0, named.MatchExpressions[0])
		require.Equal(t, was, other)
	}
}

// A node meets a requirement of labels by a label that is set or taken away; no requirement of a number and no list without values
// is met.
func TestLabelsThatMeet(t *testing.T) {
	n := testkit.Node("n1").Label("disk", "ssd").Obj()

	for _, c := range []struct {
		key    string
		op     v1.NodeSelectorOperator
		values []string
		want   string
	}{
		{"disk", v1.NodeSelectorOpIn, []string{"hdd", "nvme"}, "disk=hdd"},
		{"disk", v1.NodeSelectorOpIn, []string{"ssd"}, "none"},
		{"disk", v1.NodeSelectorOpIn, nil, "none"},
		{"rack", v1.NodeSelectorOpIn, nil, "none"},
		{"rack", v1.NodeSelectorOpExists, nil, "rack="},
		{"disk", v1.NodeSelectorOpExists, nil, "none"},
		{"disk", v1.NodeSelectorOpDoesNotExist, nil, ""},
		{"rack", v1.NodeSelectorOpDoesNotExist, nil, "none"},
		{"disk", v1.NodeSelectorOpNotIn, []string{"hdd", "ssd"}, ""},
		{"disk", v1.NodeSelectorOpNotIn, []string{"hdd"}, "none"},
		{"rack", v1.NodeSelectorOpNotIn, []string{"r1"}, "none"},
		{"disk", v1.NodeSelectorOpGt, []string{"1"}, "none"},
	} {
		x := &nodeEdits{node: n, law: &law{}, labelled: map[string]bool{}}
		x.meet(v1.NodeSelectorRequirement{Key: c.key, Operator: c.op, Values: c.values})
		got := "none"
		if len(x.out) > 0 {
			got = x.out[0].To
		}
		require.Equal(t, c.want, got, "%s %s %v", c.key, c.op, c.values)
	}
}

// Domains that taints close, with pods of the selector in them: those with most pods first, each by its node with the fewest taints.
func TestClosedDomains(t *testing.T) {
	var o cluster.Objects
	node := func(name, zone string, taints ...string) {
		n := testkit.Node(name).Obj()
		if zone != "" {
			n.Labels["zone"] = zone
		}
		n.Spec.Taints = testkit.Taints(taints...)
		o.Nodes = append(o.Nodes, n)
	}
	node("bare", "", "x:NoSchedule")
	node("a1", "a", "x:NoSchedule", "y:NoSchedule")
	node("a2", "a", "x:NoSchedule")
	node("a3", "a", "y:NoSchedule")
	node("b1", "b", "x:NoSchedule")
	node("c1", "c", "x:PreferNoSchedule")
	node("d1", "d", "x:NoSchedule")
	for name, on := range map[string]string{"1": "bare", "2": "a1", "3": "b1", "4": "b1", "5": "c1"} {
		o.Pods = append(o.Pods, testkit.Pod(name).Labels("app=web").On(on).Obj())
	}
	o.Pods = append(o.Pods, testkit.Pod("other").Labels("app=db").On("d1").Obj())
	foreign := testkit.Pod("foreign").Labels("app=web").On("d1").Obj()
	foreign.Namespace = "elsewhere"
	o.Pods = append(o.Pods, foreign)
	d := begun(t, o, testkit.Pod("p").Obj())
	var got []string
	for _, i := range d.closed("zone", labels.SelectorFromSet(labels.Set{"app": "web"})) {
		got = append(got, d.base.Node(i).Name)
	}
	require.Equal(t, []string{"b1", "a2"}, got)
}

// What is short on a node is the sum of the shares of the requests that are not free.
func TestShort(t *testing.T) {
	d := begun(t, cluster.Objects{
		Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=1m,memory=8").Obj()},
		Pods:  []*v1.Pod{testkit.Pod("a").Request("cpu=1m,memory=4").On("n1").Obj()},
	}, testkit.Pod("p").Obj())
	for ask, want := range map[string]float64{"cpu=1m": 1, "memory=4": 0, "memory=8": 0.5, "cpu=2m,memory=16": 1.75} {
		d.pod = testkit.Pod("p").Request(ask).Obj()
		require.Equal(t, want, d.short(d.requests(), d.base.Slot("n1")), ask)
	}
	over := begun(t, cluster.Objects{
		Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=4,memory=8").Obj()},
		Pods:  []*v1.Pod{testkit.Pod("a").Request("cpu=5").On("n1").Obj()},
	}, testkit.Pod("p").Request("memory=16").Obj())
	require.Equal(t, 0.5, over.short(over.requests(), 0), "the pod asks for no cpu")
}

// A comparison names the request that would have to be half as large.
func TestRequestFlip(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=16,memory=16Gi").Obj(), testkit.Node("n2").Capacity("cpu=8,memory=32Gi").Obj()}})
	require.NoError(t, err)
	pod := testkit.Pod("p").Request("cpu=3,memory=4Gi").Obj()
	c, err := Compare(Input{Snapshot: s}, pod, "n2")
	require.NoError(t, err)
	k := slices.IndexFunc(c.Flips, func(f Flip) bool { return f.Kind == "request" })
	require.GreaterOrEqual(t, k, 0)
	require.Equal(t, "Pod default/p requests.cpu from 3 to 1500m", c.Flips[k].Object+" "+c.Flips[k].Text)
	changed, err := ApplyFlip(s, pod, c.Flips[k])
	require.NoError(t, err)
	require.Equal(t, "1500m", changed.Spec.Containers[0].Resources.Requests.Cpu().String())
	require.Equal(t, "3", pod.Spec.Containers[0].Resources.Requests.Cpu().String())
}

// A change that costs nothing is a change; one of negative cost is unwanted. Options.Cost is asked about pods that move, too.
func TestCostOfZero(t *testing.T) {
	objects := cluster.Objects{
		Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=2").Obj(), testkit.Node("n2").Capacity("cpu=1").Obj()},
		Pods:  []*v1.Pod{testkit.Pod("small").Request("cpu=1").On("n1").Obj()},
	}
	s, err := cluster.New(objects)
	require.NoError(t, err)
	ask := func(remove, move int64) (out []string) {
		d, err := Relax(Input{Snapshot: s}, testkit.Pod("p").Request("cpu=2").Obj(), Options{Cost: func(c Change) int64 {
			switch c.Kind {
			case RemovePods:
				return remove
			case MovePods:
				return move
			}
			return -1
		}})
		require.NoError(t, err)
		for _, r := range d.Relaxations {
			out = append(out, r.Text())
		}
		return out
	}
	require.Empty(t, ask(-1, -1))
	require.Len(t, ask(-1, 0), 1)
	require.Len(t, ask(0, 0), 1)
}
