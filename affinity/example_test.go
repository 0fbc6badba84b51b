package affinity_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// exampleCluster has three zones, five nodes, two web pods, a database and a GPU job.
func exampleCluster() *testkit.Cluster {
	n := func(name, zone string) testkit.NodeBuilder {
		return testkit.Node(name).Zone(zone).Label(v1.LabelHostname, name)
	}
	return testkit.NewCluster(
		[]*v1.Node{n("n1", "a").Obj(), n("n2", "a").Obj(), n("n3", "b").Obj(), n("n4", "b").Obj(), n("n5", "c").Label("gpu", "t4").Obj()},
		[]*v1.Pod{
			testkit.Pod("shop/web-1").Labels("app=web").On("n1").Obj(),
			testkit.Pod("shop/web-2").Labels("app=web").On("n3").Obj(),
			testkit.Pod("shop/db-1").Labels("app=db").RequireApart(v1.LabelTopologyZone, "app=db").On("n2").Obj(),
			testkit.Pod("lab/gpu-1").Labels("app=gpu").On("n5").Obj(),
		})
}

// The simple question about one node: nodeSelector and required node affinity, as the kubelet asks it.
func ExampleMatchNode() {
	pod := testkit.Pod("lab/gpu-2").RequireNodes(v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: "gpu", Operator: v1.NodeSelectorOpExists}}}).Obj()
	for _, n := range exampleCluster().Nodes {
		fmt.Println(n.Name, affinity.MatchNode(pod, n))
	}
	// Output:
	// n1 false
	// n2 false
	// n3 false
	// n4 false
	// n5 true
}

// A third web pod that must not share a node with another one and wants to be near the database.
func Example() {
	cluster := exampleCluster()
	pod := testkit.Pod("shop/web-3").Labels("app=web").
		RequireApart(v1.LabelHostname, "app=web").
		PreferWith(10, v1.LabelTopologyZone, "app=db").Obj()

	e, err := affinity.CompilePods(pod, affinity.PodOptions{})
	if err != nil { // the pod is rejected as a whole
		fmt.Println(err)
		return
	}
	s := e.Count(cluster)
	var feasible []string
	var scores []int64
	for i := range cluster.Len() {
		if v := s.Check(i); v != 0 {
			fmt.Println(cluster.Node(i).Name, s.Reasons(v))
			continue
		}
		feasible = append(feasible, cluster.Node(i).Name)
		scores = append(scores, s.Raw(i))
	}
	s.NormalizeAll(scores)
	fmt.Println(feasible, scores)
	// Output:
	// n1 [node(s) didn't match pod anti-affinity rules]
	// n3 [node(s) didn't match pod anti-affinity rules]
	// [n2 n4 n5] [100 0 0]
}

// A second database is kept out of zone a by the anti-affinity of the one that runs there. Would it fit without it?
func ExampleState_Trial() {
	cluster := exampleCluster()
	pod := testkit.Pod("shop/db-2").Labels("app=db").Obj()
	e, _ := affinity.CompilePods(pod, affinity.PodOptions{})
	s := e.Count(cluster)
	fmt.Println("n1:", s.Reasons(s.Check(0)), "preemption may help:", s.Check(0)&resources.Unresolvable == 0)

	trial := s.Trial()
	trial.Remove(cluster.Assigned[2], 1) // db-1 on n2
	fmt.Println("without db-1:", trial.Check(0) == 0)
	// Output:
	// n1: [node(s) didn't satisfy existing pods anti-affinity rules] preemption may help: true
	// without db-1: true
}

// A profile that prefers the nodes with GPUs.
func ExampleCompileNode() {
	cluster := exampleCluster()
	added, err := affinity.CompileAdded(&v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
		Weight: 1, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "gpu", Operator: v1.NodeSelectorOpExists}}}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := testkit.Pod("lab/gpu-2").Obj()
	pod.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: "c"}
	e, _ := affinity.CompileNode(pod, affinity.NodeOptions{Added: added})
	s := e.Count(cluster)
	for i := range cluster.Len() {
		fmt.Println(cluster.Node(i).Name, s.Check(i) == 0, s.Raw(i))
	}
	fmt.Println(e.Explain(cluster.Node(0)).Missing)
	// Output:
	// n1 false 0
	// n2 false 0
	// n3 false 0
	// n4 false 0
	// n5 true 1
	// [topology.kubernetes.io/zone=c]
}

// The API server's part of matchLabelKeys: a pod of revision 2 keeps apart from pods of its own revision only.
func ExampleMergeLabelKeys() {
	pod := testkit.Pod("shop/web-4").Labels("app=web,rev=2").RequireApart(v1.LabelHostname, "app=web").Obj()
	pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].MatchLabelKeys = []string{"rev"}
	for _, e := range affinity.MergeLabelKeys(pod).Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector.MatchExpressions {
		fmt.Println(e.Key, e.Operator, e.Values)
	}
	// Output:
	// rev In [2]
}

// Where could the pod go as far as the pods that run are concerned?
func ExampleCheckPod() {
	cluster := exampleCluster()
	verdicts, err := affinity.CheckPod(testkit.Pod("shop/cart-1").RequireWith(v1.LabelTopologyZone, "app=db").Obj(), cluster)
	for i, v := range verdicts {
		fmt.Println(cluster.Node(i).Name, affinity.Reasons(v))
	}
	fmt.Println(err)
	// Output:
	// n1 []
	// n2 []
	// n3 [node(s) didn't match pod affinity rules]
	// n4 [node(s) didn't match pod affinity rules]
	// n5 [node(s) didn't match pod affinity rules]
	// <nil>
}

// A pod pinned by name, as DaemonSet pods are: only these nodes need to be looked at.
func ExampleNodeEvaluator_Names() {
	pod := testkit.Pod("kube-system/agent-1").RequireNodes(v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{
		{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n3"}}}}).Obj()
	e, err := affinity.CompileNode(pod, affinity.NodeOptions{})
	names, pinned := e.Names()
	fmt.Println(names, pinned, err)
	// Output: [n3] true <nil>
}

// A second database waits: is it worth another attempt when a pod is deleted?
func ExamplePodEvaluator_WouldHelpPod() {
	cluster := exampleCluster()
	e, _ := affinity.CompilePods(testkit.Pod("shop/db-2").Labels("app=db").Obj(), affinity.PodOptions{})
	for _, gone := range cluster.Assigned[1:3] {
		help, err := e.WouldHelpPod(cluster, gone, nil)
		fmt.Println(gone.Name, help, err)
	}
	// Output:
	// web-2 false <nil>
	// db-1 true <nil>
}

// Labels that a node may not give itself, so that pods which must not run on foreign nodes can rely on them.
func ExampleRestrictNodeUpdate() {
	old := exampleCluster().Nodes[0]
	changed := old.DeepCopy()
	changed.Labels["example.com/rack"] = "7"
	fmt.Println(affinity.RestrictNodeUpdate("n1", old, changed))
	changed.Labels["example.com.node-restriction.kubernetes.io/fips"] = "true"
	fmt.Println(affinity.RestrictNodeUpdate("n1", old, changed))
	// Output:
	// <nil>
	// node "n1" is not allowed to modify labels: example.com.node-restriction.kubernetes.io/fips
}

func ExampleValidatePod() {
	pod := testkit.Pod("shop/web-5").RequireApart("", "app=web").Obj()
	for _, err := range affinity.ValidatePod(pod)[:1] {
		fmt.Println(err)
	}
	fmt.Println(affinity.Warnings(testkit.Pod("shop/web-5").NodeSelector("beta.kubernetes.io/os=linux").Obj()))
	// Output:
	// spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty
	// [spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead]
}
