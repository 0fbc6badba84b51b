package diagnose_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/placement"
)

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
