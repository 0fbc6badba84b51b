package diagnose_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/placement"
)

// nodes are n1 and n2 in zone a, n3 and n4 in zone b, n5 in zone c. n5 is kept for gpu pods.
func nodes() (out []*v1.Node) {
	for _, x := range [][2]string{{"n1", "a"}, {"n2", "a"}, {"n3", "b"}, {"n4", "b"}, {"n5", "c"}} {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: x[0], Labels: map[string]string{v1.LabelHostname: x[0], v1.LabelTopologyZone: x[1]}}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("110")}
		if x[0] == "n5" {
			n.Labels["pool"] = "gpu"
			n.Spec.Taints = []v1.Taint{{Key: "gpu", Effect: v1.TaintEffectNoSchedule}}
		}
		out = append(out, n)
	}
	return out
}

func pod(name, node, cpu string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": name}}}
	p.Spec.NodeName = node
	p.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}
	return p
}

// A pod asks for more cpu than is free on any node but n5. The taint of n5 keeps it for other pods, so no change is about it.
func ExampleRelax() {
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes(), Pods: []*v1.Pod{
		pod("web-1", "n1", "3"), pod("web-2", "n2", "2"), pod("web-3", "n3", "3"), pod("web-4", "n4", "3"),
	}})
	if err != nil {
		panic(err)
	}
	d, err := diagnose.Relax(diagnose.Input{Snapshot: snapshot}, pod("db", "", "2500m"), diagnose.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(d.Message)
	for _, r := range d.Relaxations {
		fmt.Println(r.Cost, r.Node, r.Text())
	}
	fmt.Println("conflict:", d.Conflicts)
	// Output:
	// 0/5 nodes are available: 1 node(s) had untolerated taint(s), 4 Insufficient cpu.
	// 5 n2 Pod default/db: requests.cpu from 2500m to 2
	// 12 n2 remove default/web-2 from n2 (3 more nodes are alike)
	// 12 n1-more add a node like n1
	// 12 n3-more add a node like n3
	// conflict: [[requests.cpu spec.tolerations]]
}

// A pod selects the gpu pool, and does not tolerate its taint.
func ExampleApply() {
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes()})
	if err != nil {
		panic(err)
	}
	db := pod("db", "", "1")
	db.Spec.NodeSelector = map[string]string{"pool": "gpu"}
	inC := func(n *v1.Node) bool { return n.Labels[v1.LabelTopologyZone] == "c" }
	d, err := diagnose.Relax(diagnose.Input{Snapshot: snapshot}, db, diagnose.Options{Where: inC})
	if err != nil {
		panic(err)
	}
	best := d.Relaxations[0]
	fmt.Println(best.Text())
	changed, err := diagnose.Apply(snapshot.Fork(), db, best.Changes...)
	if err != nil {
		panic(err)
	}
	fmt.Println(changed.Spec.Tolerations[0].Key)
	// Output:
	// Pod default/db: tolerate gpu:NoSchedule
	// gpu
}

// n1 is emptier than n2. The pod goes to n2 if the running pod there leaves.
func ExampleCompare() {
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes()[:2], Pods: []*v1.Pod{pod("web-1", "n1", "100m"), pod("web-2", "n2", "1")}})
	if err != nil {
		panic(err)
	}
	c, err := diagnose.Compare(diagnose.Input{Snapshot: snapshot}, pod("db", "", "1"), "n2")
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Chosen, c.ChosenTotal > c.OtherTotal, c.Other)
	for _, p := range c.Parts {
		if p.Chosen != p.Other {
			fmt.Println(p.Plugin, p.Chosen, p.Other)
		}
	}
	for _, f := range c.Flips {
		fmt.Println(f.Text)
	}
	// Output:
	// n1 true n2
	// NodeResourcesFit 83 72
	// move default/web-2 from n2 to n1
}

// All nodes are too small, and n5 has a taint too.
func ExampleObstacles() {
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes()})
	if err != nil {
		panic(err)
	}
	plan, err := placement.New(snapshot, placement.DefaultProfile())
	if err != nil {
		panic(err)
	}
	for _, o := range diagnose.Obstacles(plan.Prepare(pod("db", "", "9")), snapshot) {
		fmt.Println(o.Nodes, o.Plugin, o.Reason, o.Examples)
	}
	// Output:
	// 5 NodeResourcesFit Insufficient cpu [n1 n3 n5]
	// 1 TaintToleration node(s) had untolerated taint(s) [n5]
}

// The node is full until the pod that terminates is gone.
func ExampleWake() {
	leaving := pod("web-1", "n1", "3")
	gone := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC))
	leaving.DeletionTimestamp = &gone
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes()[:1], Pods: []*v1.Pod{leaving}})
	if err != nil {
		panic(err)
	}
	o, err := diagnose.Wake(diagnose.Input{Snapshot: snapshot}, pod("db", "", "2"), diagnose.WakeOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(o.Node, o.At.Format(time.TimeOnly), o.Ends[0].Pod, o.Ends[0].Why)
	// Output: n1 00:00:30 default/web-1 grace
}
