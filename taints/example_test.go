package taints_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

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

// The node lifecycle controller mirrors conditions as taints: a node short of disk takes no new pods, and keeps its own.
func ExampleWithConditionTaints() {
	node := runningCluster().Nodes[0]
	node.Status.Conditions = []v1.NodeCondition{
		{Type: v1.NodeReady, Status: v1.ConditionTrue}, {Type: v1.NodeDiskPressure, Status: v1.ConditionTrue},
	}
	node = taints.WithConditionTaints(node, time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
	web := testkit.Pod("shop/web").Obj().Spec.Tolerations
	fmt.Println(taints.Format(*taints.Untolerated(node, web, taints.Options{})))
	fmt.Println(taints.DeadlineOf(node, web, taints.Options{}).Stay)
	// Output:
	// node.kubernetes.io/disk-pressure:NoSchedule
	// NoTaint
}

// Why is the GPU node's taint not tolerated?
func ExampleMismatch() {
	taint := &runningCluster().Nodes[4].Spec.Taints[0]
	for _, t := range []v1.Toleration{
		{Key: "gpu", Value: "t4"}, {Key: "gpu", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}, {Key: "gpu", Operator: v1.TolerationOpExists},
	} {
		fmt.Printf("%t %s\n", taints.Matches(&t, taint, taints.Options{}), taints.Mismatch(&t, taint, taints.Options{}))
	}
	// Output:
	// false value "a100" is not "t4"
	// false effect NoSchedule is not NoExecute
	// true
}

// A pod that the taint of gpu1 rejected: which events are worth another attempt?
func ExampleOptions_WouldHelp() {
	cluster, web := runningCluster(), testkit.Pod("shop/web").Obj()
	gpu, open := cluster.Nodes[4], cluster.Nodes[0]
	for _, event := range []struct{ old, new any }{{nil, gpu}, {nil, open}, {gpu, open}, {open, gpu}} {
		help, err := taints.Options{}.WouldHelp(web, event.old, event.new)
		fmt.Println(help, err)
	}
	// Output:
	// false <nil>
	// true <nil>
	// true <nil>
	// false <nil>
}

// With admission plugin ExtendedResourceToleration the pods that ask for a GPU tolerate the taint of that name.
func ExampleWithExtendedResources() {
	pod := taints.WithExtendedResources(testkit.Pod("ml/train").Request("cpu=1,nvidia.com/gpu=2").Obj())
	for _, t := range pod.Spec.Tolerations {
		fmt.Println(t.Key, t.Operator, t.Effect)
	}
	// Output: nvidia.com/gpu Exists NoSchedule
}

func ExampleValidateTolerations() {
	seconds := int64(60)
	list := []v1.Toleration{{Key: "gpu", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule, TolerationSeconds: &seconds}}
	for _, err := range taints.ValidateTolerations(list, field.NewPath("spec", "tolerations"), taints.ValidateOptions{}) {
		fmt.Println(err)
	}
	// Output: spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be 'NoExecute' when `tolerationSeconds` is set
}
