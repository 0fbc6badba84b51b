package taints_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

// runningCluster returns three zones and five nodes: a GPU node that is tainted, and one node that is not ready.
func runningCluster() *testkit.Cluster {
	return testkit.NewCluster([]*v1.Node{
		testkit.Node("node1").Zone("a").Obj(),
		testkit.Node("node2").Zone("a").Taint("spot=true:PreferNoSchedule").Obj(),
		testkit.Node("node3").Zone("b").Unschedulable().Obj(),
		testkit.Node("node4").Zone("b").Taint("node.kubernetes.io/not-ready:NoSchedule").
			Taint("node.kubernetes.io/not-ready:NoExecute").Obj(),
		testkit.Node("gpu1").Zone("c").Taint("gpu=a100:NoSchedule").Obj(),
	}, nil)
}

func ExampleUntolerated() {
	gpu := runningCluster().Nodes[4]
	taint := taints.Untolerated(gpu, nil, taints.Options{})
	fmt.Println(taints.Format(*taint))
	tolerations := []v1.Toleration{{Key: "gpu", Operator: v1.TolerationOpExists}}
	fmt.Println(taints.Untolerated(gpu, tolerations, taints.Options{}) == nil)
	// Output:
	// gpu=a100:NoSchedule
	// true
}

func ExampleEvaluator_Count() {
	cluster := runningCluster()
	web := testkit.Pod("shop/web").Obj()
	state := taints.Compile(web.Spec.Tolerations, taints.Options{}).Count(cluster)
	for i, node := range cluster.Nodes {
		verdict := state.CheckCordon(i)
		if verdict == 0 {
			verdict = state.Check(i)
		}
		fmt.Println(node.Name, state.Reasons(i, verdict), state.Explain(i))
	}
	// Output:
	// node1 [] no taints
	// node2 [] spot=true:PreferNoSchedule is not preferred
	// node3 [node(s) were unschedulable] cordoned
	// node4 [node(s) had untolerated taint(s)] node.kubernetes.io/not-ready:NoSchedule rejects; node.kubernetes.io/not-ready:NoExecute rejects
	// gpu1 [node(s) had untolerated taint(s)] gpu=a100:NoSchedule rejects
}

func ExampleScores() {
	cluster := runningCluster()
	fmt.Println(taints.Scores(cluster.Nodes[:2], nil, taints.Options{}))
	// Output: [100 0]
}

func ExampleDeadlineOf() {
	db := taints.WithDefaultSeconds(testkit.Pod("shop/db").Obj(), taints.DefaultSeconds{})
	d := taints.DeadlineOf(runningCluster().Nodes[3], db.Spec.Tolerations, taints.Options{})
	fmt.Println(d.Stay, d.After)
	// Output: Limited 5m0s
}

func ExampleImpact() {
	node := runningCluster().Nodes[0]
	web := testkit.Pod("shop/web").On("node1").Obj()
	db := taints.WithDefaultSeconds(testkit.Pod("shop/db").On("node1").Obj(), taints.DefaultSeconds{})
	agent := taints.WithDaemonSet(testkit.Pod("kube-system/agent").On("node1").Obj())
	taint := v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}
	for _, d := range taints.Impact(node, taint, []*v1.Pod{web, db, agent}, taints.Options{}) {
		fmt.Println(d.Pod.Name, d.After.Stay, d.After.After)
	}
	// Output:
	// web Leave 0s
	// db Limited 5m0s
}

func ExampleParse() {
	add, remove, err := taints.Parse([]string{"dedicated=batch:NoSchedule", "spot-"})
	fmt.Println(taints.Format(add[0]), taints.FormatRemoval(remove[0]), err)
	node := runningCluster().Nodes[1]
	list, outcome, err := taints.Edit{Add: add, Remove: remove}.Apply(node)
	fmt.Println(outcome, taints.Format(list[0]), len(list), err)
	// Output:
	// dedicated=batch:NoSchedule spot- <nil>
	// modified dedicated=batch:NoSchedule 1 <nil>
}
