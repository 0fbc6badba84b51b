package descheduler_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	deschedulerapp "sigs.k8s.io/descheduler/pkg/descheduler"
	frameworkfake "sigs.k8s.io/descheduler/pkg/framework/fake"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"

	"github.com/podberth/podberth/adapters/descheduler"
	"github.com/podberth/podberth/internal/testkit"
)

func node(name, zone string, cpu int) *v1.Node {
	list := v1.ResourceList{"cpu": *resource.NewQuantity(int64(cpu), resource.DecimalSI), "pods": resource.MustParse("110")}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: zone}},
		Status: v1.NodeStatus{Capacity: list, Allocatable: list, Phase: v1.NodeRunning,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
}

// pod returns a running pod of a ReplicaSet that has the name of its app.
func pod(app string, i int, node string, cpu string) *v1.Pod {
	controller := true
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("%s-%d", app, i), UID: types.UID(fmt.Sprintf("%s-%d", app, i)), Labels: map[string]string{"app": app},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(app), Controller: &controller}}},
		Spec: v1.PodSpec{NodeName: node, SchedulerName: v1.DefaultSchedulerName, Containers: []v1.Container{{Name: "c", Image: "i",
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)}}}}},
		Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}},
	}
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func apart(p *v1.Pod, app, key string) *v1.Pod {
	p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: key, LabelSelector: selector(app)}}}}
	return p
}

// served are what the fake API server serves beside the core kinds.
var served = []*metav1.APIResourceList{
	{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "replicasets"}, {Name: "statefulsets"}}},
	{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "resourceclaims"}, {Name: "resourceclaimtemplates"}, {Name: "resourceslices"}, {Name: "deviceclasses"}}},
}

// running is a plugin whose informers run.
type running struct {
	*descheduler.Plugin
	client  *fake.Clientset
	factory informers.SharedInformerFactory
}

// build returns a plugin of the registry, over informers that have not begun.
func build(t *testing.T, ctx context.Context, args descheduler.Args, objects ...runtime.Object) running {
	t.Helper()
	client := fake.NewClientset(objects...)
	client.Resources = served
	factory := informers.NewSharedInformerFactory(client, 0)
	registry := pluginregistry.NewRegistry()
	descheduler.Register(registry)
	entry := registry[descheduler.PluginName]
	entry.PluginArgDefaulter(&args)
	built, err := entry.PluginBuilder(ctx, &args, &frameworkfake.HandleImpl{ClientsetImpl: client, SharedInformerFactoryImpl: factory})
	require.NoError(t, err)
	return running{built.(*descheduler.Plugin), client, factory}
}

// start runs the informers until they have their lists. The plugin waits for these by itself.
func (r running) start(t *testing.T, ctx context.Context) running {
	t.Helper()
	r.factory.Start(ctx.Done())
	for kind, ok := range r.factory.WaitForCacheSync(ctx.Done()) {
		require.True(t, ok, kind)
	}
	return r
}

func TestQuestions(t *testing.T) {
	web := func(i int, node string) *v1.Pod { return pod("web", i, node, "1") }
	prefers := web(1, "n1")
	prefers.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{
		{Weight: 100, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}}}}}}}
	foreign := web(1, "n1")
	foreign.Spec.SchedulerName = "other"
	spread := func(i int, node string) *v1.Pod {
		p := web(i, node)
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector("web")},
			{MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: selector("web")}}
		return p
	}
	var zones []runtime.Object // of 5, 2 and 2 nodes with 3, 3 and 2 pods
	for _, name := range []string{"a0", "a1", "a2", "a3", "a4", "b0", "b1", "c0", "c1"} {
		zones = append(zones, node(name, name[:1], 8))
	}
	for i, on := range []string{"a0", "a1", "a2", "b0", "b0", "b1", "c0", "c1"} {
		zones = append(zones, spread(i, on))
	}
	tainted := node("n2", "z", 8)
	tainted.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
	two := []runtime.Object{node("n1", "z", 8), node("n2", "z", 8)}
	claiming := web(1, "n1")
	claiming.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr("gpu")}}
	claiming.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
	claiming.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr("web-1-gpu")}}

	type test struct {
		name, why   string
		objects     []runtime.Object
		ask         *v1.Pod
		among       []string
		leaving     bool
		fits, moves bool
	}
	testkit.Run(t, []test{
		{"empty node", "a free node is better than one with another pod", append(two, web(1, "n1"), web(2, "n1")), web(1, "n1"), nil, false, true, true},
		{"tie", "the scheduler may choose the old node again", append(two, web(1, "n1")), web(1, "n1"), nil, false, true, false},
		{"preference", "descheduler issues 1707 and 1920: the pod returns to the node that its preferences name", append(two, prefers), prefers, nil, false, true, false},
		{"full", "the other node has no room", []runtime.Object{node("n1", "z", 8), node("n2", "z", 1), web(1, "n1"), web(2, "n2")}, web(1, "n1"), nil, false, false, false},
		{"taint", "no other node is allowed: evicted in every cycle otherwise", []runtime.Object{node("n1", "z", 8), tainted, web(1, "n1"), web(2, "n1")}, web(1, "n1"), nil, false, false, false},
		{"anti-affinity of others", "issues 1279, 1050 and 335: a running pod keeps the newcomer off, which NodeFit does not ask", append(two, web(1, "n1"), apart(pod("db", 1, "n2", "1"), "web", v1.LabelHostname)), web(1, "n1"), nil, false, false, false},
		{"hard zones", "issue 1918: another node takes the pod, but its old one is as good", zones, spread(3, "b0"), nil, false, true, false},
		{"hard zones, nodes below the average", "issue 1918: zone a is full, so the empty nodes there cannot have it", zones, spread(3, "b0"), []string{"a3", "a4"}, false, false, false},
		{"among all", "the answer is limited to nodes, the cluster is not", append(two, web(1, "n1"), web(2, "n1")), web(1, "n1"), []string{"n2", "unknown"}, false, true, true},
		{"among none", "an empty list allows no node", append(two, web(1, "n1"), web(2, "n1")), web(1, "n1"), []string{}, false, false, false},
		{"old pod gone", "its own anti-affinity does not hold", []runtime.Object{node("n1", "z", 8), node("n2", "z", 8), apart(web(1, "n1"), "web", v1.LabelTopologyZone), pod("db", 1, "n1", "1")}, apart(web(1, "n1"), "web", v1.LabelTopologyZone), nil, false, true, true},
		{"old pod leaving", "a terminating pod keeps others off its zone", []runtime.Object{node("n1", "z", 8), node("n2", "z", 8), apart(web(1, "n1"), "web", v1.LabelTopologyZone), pod("db", 1, "n1", "1")}, apart(web(1, "n1"), "web", v1.LabelTopologyZone), nil, true, false, false},
		{"another scheduler", "nobody knows what it does", append(two, foreign, web(2, "n1")), foreign, nil, false, false, false},
		{"unknown node", "the pod is on a node that no informer shows", append(two, web(1, "n9")), web(1, "n9"), nil, false, false, false},
		{"no node", "a pending pod is not evicted", append(two, web(1, "")), web(1, ""), nil, false, false, false},
		{"device elsewhere", "the new pod gets a claim of its own from the template", append(devices(2), claiming, web(2, "n1")), claiming, nil, false, true, true},
		{"device here only", "the claim of the old pod goes with it, and its device is free again", append(devices(1), claiming, web(2, "n1")), claiming, nil, false, false, false},
	}, func(t *testing.T, c test) {
		for mode, want := range map[descheduler.Mode]bool{descheduler.Fits: c.fits, descheduler.Moves: c.moves} {
			p := build(t, t.Context(), descheduler.Args{Mode: mode, WhileLeaving: c.leaving}, c.objects...).start(t, t.Context())
			if c.among == nil {
				require.Equal(t, want, p.PreEvictionFilter(c.ask), "%s: %s", mode, c.why)
				continue
			}
			nodes := []*v1.Node{}
			for _, name := range c.among {
				nodes = append(nodes, node(name, "", 1))
			}
			require.Equal(t, want, p.FitsAmong(c.ask, nodes), "%s: %s", mode, c.why)
		}
	})
}

func ptr[T any](x T) *T { return &x }

// devices returns two nodes with a device each on the first n of them, and the claim of pod web-1, which has that of n1.
func devices(n int) []runtime.Object {
	controller := true
	request := []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}
	spec := resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: request}}
	out := []runtime.Object{node("n1", "z", 8), node("n2", "z", 8), &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}},
		&resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "gpu"}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: spec}},
		&resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1-gpu", UID: "web-1-gpu", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web-1", UID: "web-1", Controller: &controller}}},
			Spec:       spec,
			Status: resourcev1.ResourceClaimStatus{ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "web-1", UID: "web-1"}},
				Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "d", Pool: "n1", Device: "x"}}}}},
		}}
	for _, name := range []string{"n1", "n2"}[:n] {
		out = append(out, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{Driver: "d", NodeName: ptr(name),
			Pool: resourcev1.ResourcePool{Name: name, ResourceSliceCount: 1}, Devices: []resourcev1.Device{{Name: "x"}}}})
	}
	return out
}

// NodeFit forgets what the same cycle has evicted: here the second pod has to stay, because the first one takes the room.
func TestPodsOnTheirWay(t *testing.T) { synctest.Test(t, podsOnTheirWay) }

func podsOnTheirWay(t *testing.T) {
	ctx := t.Context()
	web := func(i int, node string) *v1.Pod { return pod("web", i, node, "1") }
	small := node("n2", "z", 8)
	small.Status.Allocatable["pods"] = resource.MustParse("1")
	p := build(t, ctx, descheduler.Args{}, node("n1", "z", 8), small, web(1, "n1"), web(2, "n1"), web(3, "n1")).start(t, ctx)
	require.True(t, p.Filter(web(1, "n1")))
	require.True(t, p.PreEvictionFilter(web(1, "n1")))
	require.False(t, p.PreEvictionFilter(web(2, "n1")), "n2 has room for one")
	require.True(t, p.PreEvictionFilter(web(1, "n1")), "asked again, it is the same pod")
	p.Later(11)
	require.True(t, p.PreEvictionFilter(web(2, "n1")), "eleven seconds later the first has not left: nobody has evicted it")
	require.False(t, p.PreEvictionFilter(web(1, "n1")))

	p.evict(t, ctx, "web-2")
	p.Later(240)
	require.False(t, p.PreEvictionFilter(web(3, "n1")), "four minutes later the second is expected on n2")
	elsewhere := web(4, "n1") // the scheduler had other ideas
	_, err := p.client.CoreV1().Pods("shop").Create(ctx, elsewhere, metav1.CreateOptions{})
	require.NoError(t, err)
	synctest.Wait()
	require.True(t, p.Knows("shop", "web-4"))
	require.True(t, p.PreEvictionFilter(web(3, "n1")), "the second is on a node, and n2 is free")
	p.evict(t, ctx, "web-3")
	require.False(t, p.PreEvictionFilter(web(1, "n1")))
	p.Later(301)
	require.True(t, p.PreEvictionFilter(web(1, "n1")), "five minutes later nobody is expected")
}

// evict deletes a pod and waits for the informers. It runs in a bubble of synctest.
func (r running) evict(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	require.NoError(t, r.client.CoreV1().Pods("shop").Delete(ctx, name, metav1.DeleteOptions{}))
	synctest.Wait()
	require.False(t, r.Knows("shop", name))
}

// Together they would come back: alone each pod leaves n1 for the emptier n2, but when both are gone, one of them finds n1 as good.
func TestTogether(t *testing.T) { synctest.Test(t, together) }

func together(t *testing.T) {
	ctx := t.Context()
	p := build(t, ctx, descheduler.Args{}, node("n1", "z", 8), node("n2", "z", 8), pod("a", 1, "n1", "1"), pod("b", 1, "n1", "1"), pod("c", 1, "n1", "1")).start(t, ctx)
	require.True(t, p.PreEvictionFilter(pod("a", 1, "n1", "1")))
	p.evict(t, ctx, "a-1")
	require.False(t, p.PreEvictionFilter(pod("b", 1, "n1", "1")))
}

func TestUnknown(t *testing.T) {
	ctx := t.Context()
	p := build(t, ctx, descheduler.Args{Mode: descheduler.Fits}, node("n1", "z", 8), node("n2", "z", 8), pod("web", 1, "n1", "1"))
	require.False(t, p.PreEvictionFilter(pod("web", 1, "n1", "1")), "no list has come")
	require.True(t, p.start(t, ctx).PreEvictionFilter(pod("web", 1, "n1", "1")))

	stopped, stop := context.WithCancel(ctx)
	p = build(t, stopped, descheduler.Args{Mode: descheduler.Fits}, node("n1", "z", 8), node("n2", "z", 8), pod("web", 1, "n1", "1"))
	free := p.Hold()
	p.start(t, ctx)
	stop()
	require.False(t, p.PreEvictionFilter(pod("web", 1, "n1", "1")), "the descheduler ended while the plugin waited")
	free()
}

// setup fills the registry of the descheduler, which reads policies with it.
func setup() pluginregistry.Registry {
	deschedulerapp.SetupPlugins()
	descheduler.Register(pluginregistry.PluginRegistry)
	return pluginregistry.PluginRegistry
}

func TestPolicy(t *testing.T) {
	registry := setup()
	client := fake.NewClientset()
	_, err := deschedulerapp.LoadPolicyConfig("testdata/policy.yaml", client, registry)
	require.NoError(t, err)

	text, err := os.ReadFile("testdata/policy.yaml")
	require.NoError(t, err)
	bad := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(bad, []byte(strings.Replace(string(text), "mode: Moves", "mode: Stays", 1)), 0o644))
	_, err = deschedulerapp.LoadPolicyConfig(bad, client, registry)
	require.ErrorContains(t, err, `mode: Unsupported value: "Stays": supported values: "Fits", "Moves"`)

	require.ErrorContains(t, descheduler.Validate(&appsv1.ReplicaSet{}), "the arguments are of type *v1.ReplicaSet")
}
