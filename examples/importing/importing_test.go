package importing_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/examples/importing"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/estimate"
)

func node(name, cpu string, taints ...v1.Taint) *v1.Node {
	list := v1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse("9")}
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}, Spec: v1.NodeSpec{Taints: taints}, Status: v1.NodeStatus{Allocatable: list}}
}

func pod(name, cpu, node string) *v1.Pod {
	container := v1.Container{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)}}}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": name}}, Spec: v1.PodSpec{NodeName: node, Containers: []v1.Container{container}}}
}

// start returns a cluster of three nodes: n1 has two pods, n2 is tainted, n3 is cordoned.
func start() (*estimate.Estimator, *placement.Placer, error) {
	closed := node("n3", "8")
	closed.Spec.Unschedulable = true
	snapshot, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{node("n1", "4"), node("n2", "8", v1.Taint{Key: "ml", Effect: v1.TaintEffectNoSchedule}), closed},
		Pods:  []*v1.Pod{pod("a", "1", "n1"), pod("b", "2", "n1")},
	})
	if err != nil {
		return nil, nil, err
	}
	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
	if err != nil {
		return nil, nil, err
	}
	e, err := estimate.New(estimate.Input{Snapshot: snapshot, Profile: placement.DefaultProfile()})
	return e, placer, err
}

func Example() {
	e, placer, err := start()
	if err != nil {
		panic(err)
	}
	tolerations := []v1.Toleration{{Key: "ml", Operator: v1.TolerationOpExists}}
	worker := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "w"}, Spec: pod("w", "3", "").Spec}
	fmt.Println(importing.KueueNodes(e, worker, tolerations, []string{"n3", "n2", "n1"}))
	fmt.Println(importing.KarmadaReplicas(e, importing.KarmadaRequirements{Namespace: "shop", Tolerations: tolerations, Requests: v1.ResourceList{"cpu": resource.MustParse("1")}}))

	fmt.Println(importing.AutoscalerNode(e, placer, pod("x", "1", ""), slices.Values([]int{1, 2, 0}), nil))
	fmt.Println(importing.AutoscalerNode(e, placer, pod("y", "1", ""), slices.Values([]int{0, 1, 2}), func(slot int) bool { return slot != 2 }))
	fmt.Println(importing.AutoscalerCheck(placer.Plan, pod("y", "1", ""), 2))
	fmt.Println(importing.AutoscalerCheck(placer.Plan, pod("y", "0", ""), 0))
	fmt.Println(importing.YuniKornVictims(placer.Plan, pod("z", "3", ""), 0, []*v1.Pod{pod("a", "1", "n1"), pod("b", "2", "n1")}, 0))
	// Output:
	// [n2] map[NodeResourcesFit: Insufficient cpu:1 NodeUnschedulable: node(s) were unschedulable:1] <nil>
	// 9 <nil>
	// 0 [] <nil>
	// -1 [{NodeResourcesFit Insufficient cpu 1 [n1]} {NodeUnschedulable node(s) were unschedulable 1 [n3]} {TaintToleration ml:NoSchedule 1 [n2]}] <nil>
	// [node(s) were unschedulable] <nil>
	// [] <nil>
	// 1 <nil>
}

// YuniKorn's victims leave the counts of anti-affinity too.
func TestVictimsLeaveAntiAffinity(t *testing.T) {
	_, placer, err := start()
	require.NoError(t, err)
	p := pod("z", "1", "")
	p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
		{TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "b"}}}}}}
	at, err := importing.YuniKornVictims(placer.Plan, p, 0, []*v1.Pod{pod("a", "1", "n1"), pod("b", "2", "n1")}, 0)
	require.NoError(t, err)
	require.Equal(t, 1, at)
	at, err = importing.YuniKornVictims(placer.Plan, p, 0, []*v1.Pod{pod("a", "1", "n1")}, 0)
	require.NoError(t, err)
	require.Equal(t, -1, at)
}

// radar's two cases: a pod without a controller ends the drain of its node, and a budget that allows nothing blocks only pods that need
// a unit of it.
func TestDrain(t *testing.T) {
	controller := true
	owned := func(p *v1.Pod) *v1.Pod {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "1", Controller: &controller}}
		p.Status.Phase, p.Status.Conditions = v1.PodRunning, []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		return p
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	budget.Status = policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1, DesiredHealthy: 1, ExpectedPods: 1}
	waits := owned(pod("web", "1", "n1"))
	waits.Name, waits.Status.Phase, waits.Status.Conditions = "web-waits", v1.PodPending, nil
	pods, budgets, now := []*v1.Pod{owned(pod("web", "1", "n1")), waits, owned(pod("free", "1", "n1"))}, []*policyv1.PodDisruptionBudget{budget}, time.Unix(0, 0)
	require.Equal(t, []string{
		"wave 1: web-waits",
		"wave 1: free",
		"blocked: web by shop/web: The disruption budget web does not allow evicting pods currently",
	}, importing.RadarDrain("n1", pods, budgets, now))

	bare := pod("bare", "1", "n1")
	lines := importing.RadarDrain("n1", append(pods, bare), budgets, now)
	require.Contains(t, lines[len(lines)-1], "shop/bare")
	require.NotContains(t, lines, "wave 1: free")
}

// A device that a claim holds is free for nobody else; that of a type's template is.
func TestKarpenterDevices(t *testing.T) {
	slice := func(name, node string) *resourcev1.ResourceSlice {
		return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{Driver: "d", NodeName: &node,
			Pool: resourcev1.ResourcePool{Name: name, ResourceSliceCount: 1}, Devices: []resourcev1.Device{{Name: "x"}}}}
	}
	claim := func(name string) *resourcev1.ResourceClaim {
		request := resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}
		return &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{request}}}}
	}
	holder := claim("a")
	holder.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "d", Pool: "old", Device: "x"}}}}
	class := func(string) *resourcev1.DeviceClass { return &resourcev1.DeviceClass{} }
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "new"}}
	types := map[string][]*resourcev1.ResourceSlice{"large": {slice("t", "new")}, "small": nil}
	fit, err := importing.KarpenterDevices([]*resourcev1.ResourceSlice{slice("old", "new")}, []*resourcev1.ResourceClaim{holder}, class, nil, node, types, claim("b"))
	require.NoError(t, err)
	require.Equal(t, []string{"large"}, fit)

	fit, err = importing.KarpenterDevices([]*resourcev1.ResourceSlice{slice("old", "new")}, nil, class, nil, node, types, claim("b"))
	require.NoError(t, err)
	require.Equal(t, []string{"large", "small"}, fit)
	_, err = importing.KarpenterDevices(nil, nil, func(string) *resourcev1.DeviceClass { return nil }, nil, node, types, claim("b"))
	require.ErrorContains(t, err, "large: ")
}
