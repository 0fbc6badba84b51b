package placement_test

import (
	"encoding/json"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// company is the running example: 3 zones, 5 nodes, web and db pods, and a gpu pod to come.
func company() (*placement.Plan, *cluster.Snapshot) {
	snapshot, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{
			testkit.Node("node-1").Zone("a").Capacity("cpu=4,memory=16Gi").Obj(),
			testkit.Node("node-2").Zone("a").Capacity("cpu=4,memory=16Gi").Obj(),
			testkit.Node("node-3").Zone("b").Capacity("cpu=4,memory=16Gi").Obj(),
			testkit.Node("node-4").Zone("b").Capacity("cpu=4,memory=16Gi").Unschedulable().Obj(),
			testkit.Node("node-5").Zone("c").Capacity("cpu=8,memory=32Gi,nvidia.com/gpu=2").Taint("gpu=true:NoSchedule").Obj(),
		},
		Pods: []*v1.Pod{
			testkit.Pod("web-1").Labels("app=web").Request("cpu=500m,memory=1Gi").On("node-1").Obj(),
			testkit.Pod("web-2").Labels("app=web").Request("cpu=500m,memory=1Gi").On("node-3").Obj(),
			testkit.Pod("db-1").Labels("app=db").Request("cpu=2,memory=8Gi").RequireApart(v1.LabelHostname, "app=db").On("node-2").Obj(),
		},
	})
	if err != nil {
		panic(err)
	}
	plan, err := placement.New(snapshot, placement.DefaultProfile())
	if err != nil {
		panic(err)
	}
	return plan, snapshot
}

func gpu(name string) *v1.Pod {
	return testkit.Pod(name).Labels("app=gpu").Request("cpu=1,nvidia.com/gpu=1").Tolerate("gpu", v1.TolerationOpExists, "", "").Obj()
}

// One pod after the other, each seeing those before.
func ExamplePlan_Decide() {
	plan, _ := company()
	for _, name := range []string{"gpu-1", "gpu-2", "gpu-3"} {
		pod := gpu(name)
		d := plan.Decide(pod, placement.Options{})
		if !d.Placed() {
			fmt.Printf("%s: %s\n", name, d.Failure.Text())
			continue
		}
		fmt.Printf("%s: %s\n", name, d.Node)
		if err := plan.Assume(pod, d); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// gpu-1: node-5
	// gpu-2: node-5
	// gpu-3: 0/5 nodes are available: 1 node(s) were unschedulable, 4 Insufficient nvidia.com/gpu.
}

// Why not this node? Every plugin is asked.
func ExamplePlan_Fits() {
	plan, _ := company()
	db := testkit.Pod("db-2").Labels("app=db").Request("cpu=3,memory=8Gi").RequireApart(v1.LabelHostname, "app=db").Obj()
	slot, _ := plan.Slot("node-2")
	for _, r := range plan.Fits(db, slot) {
		fmt.Printf("%s: %s (%s)\n", r.Plugin, strings.Join(r.Reasons, ", "), r.Numbers[0])
	}
	// Output:
	// NodeResourcesFit: Insufficient cpu (cpu: asks for 3000m, 2000m of 4000m are in use)
	// InterPodAffinity: node(s) didn't match pod anti-affinity rules (kubernetes.io/hostname=node-2: 1 match(es) of the anti-affinity terms)
}

// The whole picture, node by node.
func ExamplePlan_Table() {
	plan, _ := company()
	web := testkit.Pod("web-3").Labels("app=web").Request("cpu=500m,memory=1Gi").Spread(1, v1.LabelTopologyZone, v1.ScheduleAnyway, "app=web").Obj()
	table, err := plan.Table(web)
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
	// node-1 654: TaintToleration 100x3 NodeResourcesFit 81x1 PodTopologySpread 100x2 NodeResourcesBalancedAllocation 73x1 ImageLocality 0x1
	// node-2 613: TaintToleration 100x3 NodeResourcesFit 40x1 PodTopologySpread 100x2 NodeResourcesBalancedAllocation 73x1 ImageLocality 0x1
	// node-3 654: TaintToleration 100x3 NodeResourcesFit 81x1 PodTopologySpread 100x2 NodeResourcesBalancedAllocation 73x1 ImageLocality 0x1
	// node-4 no: node(s) were unschedulable
	// node-5 no: node(s) had untolerated taint(s)
}

// How many more replicas fit, and what stops the next one.
func ExamplePlan_HowMany() {
	plan, _ := company()
	db := testkit.Pod("db").Labels("app=db").Request("cpu=1,memory=8Gi").RequireApart(v1.LabelHostname, "app=db").Obj()
	room, err := plan.HowMany(db, 0)
	fmt.Println(room.Count, room.Nodes, err)
	fmt.Println(room.Stop.Text())
	// Output:
	// 2 [node-1 node-3] <nil>
	// 0/5 nodes are available: 1 node(s) didn't match pod anti-affinity rules, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 Insufficient memory.
}

// Running pods whose rules no longer hold where they are.
func ExamplePlan_Violations() {
	plan, snapshot := company()
	node := snapshot.Node(snapshot.Slot("node-1")).DeepCopy()
	node.Spec.Taints = []v1.Taint{{Key: "team", Value: "search", Effect: v1.TaintEffectNoSchedule}}
	if err := snapshot.Set(node); err != nil {
		fmt.Println(err)
	}
	for _, v := range plan.Violations() {
		fmt.Println(v.Pod, "on", v.Node, v.Rejections[0].Plugin, v.Rejections[0].Numbers[0])
	}
	// Output:
	// default/web-1 on node-1 TaintToleration team=search:NoSchedule rejects
}

// Would a node that does not exist yet help?
func ExamplePlan_WithNodes() {
	plan, _ := company()
	pod := testkit.Pod("big").Request("cpu=12").Obj()
	fmt.Println(plan.Decide(pod, placement.Options{}).Failure.Text())
	larger, err := plan.WithNodes(testkit.Node("node-6").Zone("c").Capacity("cpu=16,memory=64Gi").Obj())
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(larger.Decide(pod, placement.Options{}).Node)
	// Output:
	// 0/5 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 3 Insufficient cpu.
	// node-6
}

// Decisions and failures as controllers store them.
func ExampleDecision_MarshalJSON() {
	plan, _ := company()
	for _, pod := range []*v1.Pod{testkit.Pod("web-3").Request("cpu=500m,memory=1Gi").Obj(), gpu("gpu-1"), testkit.Pod("big").Request("cpu=12").Obj()} {
		data, err := json.Marshal(plan.Decide(pod, placement.Options{}))
		if err != nil {
			fmt.Println(err)
		}
		fmt.Println(strings.ReplaceAll(string(data), `,"`, `, "`))
	}
	// Output:
	// {"node":"node-1", "total":454, "nodes":5, "evaluated":5, "feasible":3}
	// {"node":"node-5", "total":0, "nodes":5, "evaluated":5, "feasible":1}
	// {"total":0, "nodes":5, "evaluated":5, "feasible":0, "failure":{"code":"Unschedulable", "message":"0/5 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 3 Insufficient cpu.", "nodes":5, "reasons":[{"reason":"Insufficient cpu", "nodes":3},{"reason":"node(s) had untolerated taint(s)", "nodes":1},{"reason":"node(s) were unschedulable", "nodes":1}], "rejecters":["NodeUnschedulable", "TaintToleration", "NodeResourcesFit"]}}
}

// quota is a filter of one's own: no more than so many pods of a namespace on a node.
func quota(max int) *placement.Plugin {
	return &placement.Plugin{Name: "Quota", Filter: func(pod *v1.Pod, c placement.Cluster) placement.Filtering {
		return placement.Filtering{Predicate: quotaOf{c, pod.Namespace, max}}
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

// A plugin of one's own takes part in messages and tables.
func ExamplePlugin() {
	_, snapshot := company()
	profile := placement.DefaultProfile()
	profile.Filters = append(profile.Filters, quota(1))
	plan, err := placement.New(snapshot, profile)
	if err != nil {
		fmt.Println(err)
		return
	}
	d := plan.Decide(testkit.Pod("web-3").Request("cpu=100m").Obj(), placement.Options{})
	fmt.Println(d.Failure.Text())
	fmt.Println(d.Failure.Code == filter.Unschedulable, d.Failure.Rejecters)
	// Output:
	// 0/5 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 3 node(s) had enough pods of the namespace.
	// true [NodeUnschedulable TaintToleration Quota]
}
