package placement_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// shop has nodes n1 to n5 in three zones. Node n4 is cordoned, and n5 has GPUs behind a taint. Two web pods and a db pod run.
func shop() (*placement.Placer, *cluster.Snapshot) {
	small := v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi")}
	large := v1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi"), "nvidia.com/gpu": resource.MustParse("2")}
	nodes := []*v1.Node{node("n1", "a", small), node("n2", "a", small), node("n3", "b", small), node("n4", "b", small), node("n5", "c", large)}
	nodes[3].Spec.Unschedulable = true
	nodes[4].Spec.Taints = []v1.Taint{{Key: "gpu", Value: "true", Effect: v1.TaintEffectNoSchedule}}
	pods := []*v1.Pod{web("web-1"), web("web-2"), db("db-1", "2")}
	pods[0].Spec.NodeName, pods[1].Spec.NodeName, pods[2].Spec.NodeName = "n1", "n3", "n2"
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: pods})
	if err != nil {
		panic(err)
	}
	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
	if err != nil {
		panic(err)
	}
	return placer, snapshot
}

func node(name, zone string, amounts v1.ResourceList) *v1.Node {
	amounts = maps.Clone(amounts)
	amounts[v1.ResourcePods] = resource.MustParse("110")
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: zone}},
		Status:     v1.NodeStatus{Capacity: amounts, Allocatable: amounts},
	}
}

func pod(name, app string, requests v1.ResourceList) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": app}},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: app, Resources: v1.ResourceRequirements{Requests: requests}}}},
	}
}

func web(name string) *v1.Pod {
	return pod(name, "web", v1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")})
}

// db returns a pod that shares its node with no other db pod.
func db(name, cpu string) *v1.Pod {
	p := pod(name, "db", v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi")})
	p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
		{TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}},
	}}}
	return p
}

// gpu returns a pod that asks for a GPU and tolerates the taint of the nodes that have GPUs.
func gpu(name string) *v1.Pod {
	p := pod(name, "gpu", v1.ResourceList{"cpu": resource.MustParse("1"), "nvidia.com/gpu": resource.MustParse("1")})
	p.Spec.Tolerations = []v1.Toleration{{Key: "gpu", Operator: v1.TolerationOpExists}}
	return p
}

// Assume adds a pod to the cluster, so that the next decision counts that pod.
func ExamplePlan_Decide() {
	placer, _ := shop()
	for _, name := range []string{"gpu-1", "gpu-2", "gpu-3"} {
		p := gpu(name)
		d := placer.Decide(p, placement.Options{})
		if !d.Placed() {
			fmt.Printf("%s: %s\n", name, d.Failure.Text())
			continue
		}
		fmt.Printf("%s: %s\n", name, d.Node)
		if err := placer.Assume(p, d); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// gpu-1: n5
	// gpu-2: n5
	// gpu-3: 0/5 nodes are available: 1 node(s) were unschedulable, 4 Insufficient nvidia.com/gpu.
}

// Rejections asks every filter why a pod cannot run on one node.
func ExamplePlan_Rejections() {
	plan, _ := shop()
	slot, _ := plan.Slot("n2")
	for _, r := range plan.Rejections(db("db-2", "3"), slot) {
		fmt.Printf("%s: %s (%s)\n", r.Plugin, strings.Join(r.Reasons, ", "), r.Numbers[0])
	}
	// Output:
	// NodeResourcesFit: Insufficient cpu (cpu: asks for 3, 2 of 4 are free)
	// InterPodAffinity: node(s) didn't match pod anti-affinity rules (kubernetes.io/hostname=n2: the pod's anti-affinity rejects default/db-1)
}

// Table lists what filters and scores say about each node.
func ExamplePlan_Table() {
	plan, _ := shop()
	replica := web("web-3")
	replica.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}}
	table, err := plan.Table(replica)
	if err != nil {
		fmt.Println(err)
	}
	for _, n := range table {
		if !n.Feasible() {
			fmt.Println(n.Node, "no:", n.Rejections[0].Reasons[0])
			continue
		}
		fmt.Print(n.Node, " ", n.Total, ":")
		for _, s := range n.Scores {
			fmt.Printf(" %s %dx%d", s.Plugin, s.Normalized, s.Weight)
		}
		fmt.Println()
	}
	// Output:
	// n1 654: TaintToleration 100x3 NodeResourcesFit 81x1 PodTopologySpread 100x2 NodeResourcesBalancedAllocation 73x1 ImageLocality 0x1
	// n2 613: TaintToleration 100x3 NodeResourcesFit 40x1 PodTopologySpread 100x2 NodeResourcesBalancedAllocation 73x1 ImageLocality 0x1
	// n3 654: TaintToleration 100x3 NodeResourcesFit 81x1 PodTopologySpread 100x2 NodeResourcesBalancedAllocation 73x1 ImageLocality 0x1
	// n4 no: node(s) were unschedulable
	// n5 no: node(s) had untolerated taint(s)
}

// HowMany places copies of a pod until a copy does not fit, and says why.
func ExamplePlacer_HowMany() {
	placer, _ := shop()
	room, err := placer.HowMany(db("db", "1"), nil)
	fmt.Println(len(room.Nodes), room.Nodes, err)
	fmt.Println(room.Stop.Text())
	// Output:
	// 2 [n1 n3] <nil>
	// 0/5 nodes are available: 1 node(s) didn't match pod anti-affinity rules, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 Insufficient memory.
}

// Violations finds running pods whose rules no longer allow their nodes.
func ExamplePlan_Violations() {
	plan, snapshot := shop()
	node := snapshot.Node(snapshot.Slot("n1")).DeepCopy()
	node.Spec.Taints = []v1.Taint{{Key: "team", Value: "search", Effect: v1.TaintEffectNoSchedule}}
	if err := snapshot.Set(node); err != nil {
		fmt.Println(err)
	}
	for _, v := range plan.Violations() {
		fmt.Println(v.Pod, "on", v.Node, v.Rejections[0].Plugin, v.Rejections[0].Numbers[0])
	}
	// Output:
	// default/web-1 on n1 TaintToleration team=search:NoSchedule rejects
}

// WithNodes asks whether a node that does not exist yet would help.
func ExamplePlacer_WithNodes() {
	placer, _ := shop()
	big := pod("big", "web", v1.ResourceList{"cpu": resource.MustParse("12")})
	fmt.Println(placer.Decide(big, placement.Options{}).Failure.Text())
	larger, err := placer.WithNodes(node("n6", "c", v1.ResourceList{"cpu": resource.MustParse("16"), "memory": resource.MustParse("64Gi")}))
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(larger.Decide(big, placement.Options{}).Node)
	// Output:
	// 0/5 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 3 Insufficient cpu.
	// n6
}

// Decisions and failures as controllers store them.
func ExampleDecision_MarshalJSON() {
	plan, _ := shop()
	for _, p := range []*v1.Pod{web("web-3"), gpu("gpu-1"), pod("big", "web", v1.ResourceList{"cpu": resource.MustParse("12")})} {
		data, err := json.Marshal(plan.Decide(p, placement.Options{}))
		if err != nil {
			fmt.Println(err)
		}
		fmt.Println(strings.ReplaceAll(string(data), `,"`, `, "`))
	}
	// Output:
	// {"node":"n1", "total":454, "nodes":5, "evaluated":5, "feasible":3}
	// {"node":"n5", "total":0, "nodes":5, "evaluated":5, "feasible":1}
	// {"total":0, "nodes":5, "evaluated":5, "feasible":0, "failure":{"code":"Unschedulable", "message":"0/5 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 3 Insufficient cpu.", "nodes":5, "reasons":[{"reason":"Insufficient cpu", "nodes":3},{"reason":"node(s) had untolerated taint(s)", "nodes":1},{"reason":"node(s) were unschedulable", "nodes":1}], "rejecters":["NodeUnschedulable", "TaintToleration", "NodeResourcesFit"]}}
}

// quota is a filter of the caller. It allows at most max pods of a namespace on a node.
func quota(max int) *placement.Plugin {
	return &placement.Plugin{Name: "Quota", Filter: func(pod *v1.Pod, c placement.Cluster) placement.PreFiltered {
		return placement.PreFiltered{Predicate: quotaOf{c, pod.Namespace, max}}
	}}
}

type quotaOf struct {
	cluster   placement.Cluster
	namespace string
	max       int
}

func (quotaOf) Name() string { return "Quota" }
func (quotaOf) Reasons(resources.Verdict) []string {
	return []string{"node(s) had enough pods of the namespace"}
}
func (q quotaOf) Check(i int) resources.Verdict {
	n := 0
	for p := range q.cluster.Pods(i) {
		if p.Namespace == q.namespace {
			n++
		}
	}
	if n >= q.max {
		return 1
	}
	return 0
}

// The messages count a plugin of the caller like the other plugins.
func ExamplePlugin() {
	_, snapshot := shop()
	profile := placement.DefaultProfile()
	profile.Filters = append(profile.Filters, quota(1))
	plan, err := placement.New(snapshot, profile)
	if err != nil {
		fmt.Println(err)
		return
	}
	d := plan.Decide(web("web-3"), placement.Options{})
	fmt.Println(d.Failure.Text())
	fmt.Println(d.Failure.Code == filter.Unschedulable, d.Failure.Rejecters)
	// Output:
	// 0/5 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 3 node(s) had enough pods of the namespace.
	// true [NodeUnschedulable TaintToleration Quota]
}

// Which events are worth another attempt for a pod that no node has room for? The hint of the filter that rejected the pod says so.
func ExamplePlugin_hint() {
	_, snapshot := shop()
	fit, err := placement.PluginArgs{}.Plugin("NodeResourcesFit")
	if err != nil {
		fmt.Println(err)
		return
	}
	hint := fit.Hint(snapshot)
	cpu := func(amount string) v1.ResourceList { return v1.ResourceList{"cpu": resource.MustParse(amount)} }
	running := web("web-3")
	running.Spec.NodeName = "n4"
	small, large := node("n5", "c", cpu("4")), node("n6", "c", cpu("8"))
	for _, event := range []struct{ old, new any }{{running, nil}, {nil, small}, {nil, large}, {small, small}} {
		fmt.Println(hint(pod("large", "batch", cpu("5")), event.old, event.new))
	}
	// Output:
	// true <nil>
	// false <nil>
	// true <nil>
	// false <nil>
}
