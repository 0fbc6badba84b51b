package affinity_test

import (
	"fmt"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/resources"
)

// exampleCluster is a cluster in its simplest form. A nil node is a free slot.
type exampleCluster struct {
	nodes []*v1.Node
	pods  map[string][]*v1.Pod // by node
}

func (c exampleCluster) Len() int                     { return len(c.nodes) }
func (c exampleCluster) Node(i int) *v1.Node          { return c.nodes[i] }
func (c exampleCluster) Pods(i int) iter.Seq[*v1.Pod] { return slices.Values(c.pods[c.nodes[i].Name]) }
func (c exampleCluster) Namespaces() iter.Seq2[string, map[string]string] {
	return func(yield func(string, map[string]string) bool) { yield("default", nil) }
}

func newPod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": name}}}
}

// near returns a term that selects the pods of an app in the domains of a topology key.
func near(key, app string) v1.PodAffinityTerm {
	return v1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
}

func apart(terms ...v1.PodAffinityTerm) *v1.Affinity {
	return &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
}

// newCluster returns nodes n1 to n5 in the zones a, b and c; n5 has a GPU. A web pod runs on n1 and on n3. The db pod on n2
// keeps other db pods out of its zone.
func newCluster() exampleCluster {
	c := exampleCluster{pods: map[string][]*v1.Pod{}}
	for i, zone := range []string{"a", "a", "b", "b", "c"} {
		name := fmt.Sprint("n", i+1)
		c.nodes = append(c.nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: zone},
		}})
	}
	c.nodes[4].Labels["gpu"] = "t4"
	db := newPod("db")
	db.Spec.Affinity = apart(near(v1.LabelTopologyZone, "db"))
	for node, pod := range map[string]*v1.Pod{"n1": newPod("web"), "n2": db, "n3": newPod("web")} {
		pod.Spec.NodeName = node
		c.pods[node] = append(c.pods[node], pod)
	}
	return c
}

// The nodes that nodeSelector and required node affinity allow.
func ExampleMatchNode() {
	gpu := newPod("gpu")
	gpu.Spec.NodeSelector = map[string]string{"gpu": "t4"}
	for _, n := range newCluster().nodes {
		fmt.Println(n.Name, affinity.MatchNode(gpu, n))
	}
	// Output:
	// n1 false
	// n2 false
	// n3 false
	// n4 false
	// n5 true
}

// A third web pod must not share a node with another web pod and prefers the zone of the database.
func Example() {
	cluster := newCluster()
	web := newPod("web")
	web.Spec.Affinity = apart(near(v1.LabelHostname, "web"))
	web.Spec.Affinity.PodAffinity = &v1.PodAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 10, PodAffinityTerm: near(v1.LabelTopologyZone, "db")}},
	}
	e, err := affinity.CompilePods(web, affinity.PodOptions{})
	if err != nil { // the pod is rejected as a whole
		fmt.Println(err)
		return
	}
	s := e.Count(cluster)
	for i, node := range cluster.nodes {
		if v := s.Check(i); v != 0 {
			fmt.Println(node.Name, s.Reasons(v))
			continue
		}
		fmt.Println(node.Name, s.Normalize(s.Raw(i), 0, 10))
	}
	// Output:
	// n1 [node(s) didn't match pod anti-affinity rules]
	// n2 100
	// n3 [node(s) didn't match pod anti-affinity rules]
	// n4 0
	// n5 0
}

// The db pod that runs on n2 keeps a second db pod out of zone a. The example asks whether the second pod fits without the
// first.
func ExampleState_NewTrial() {
	cluster := newCluster()
	e, _ := affinity.CompilePods(newPod("db"), affinity.PodOptions{})
	s := e.Count(cluster)
	v := s.Check(0)
	fmt.Println("n1:", s.Reasons(v), "preemption may help:", v&resources.Unresolvable == 0)

	trial := s.NewTrial()
	trial.Remove(cluster.pods["n2"][0], 1)
	fmt.Println("without the first:", trial.Check(0) == 0)
	// Output:
	// n1: [node(s) didn't satisfy existing pods anti-affinity rules] preemption may help: true
	// without the first: true
}

// A profile that prefers nodes with a GPU, and a pod that selects zone c.
func ExampleCompileNode() {
	cluster := newCluster()
	added, err := affinity.CompileAdded(&v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
		Weight: 1, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "gpu", Operator: v1.NodeSelectorOpExists}}},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu := newPod("gpu")
	gpu.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: "c"}
	e, _ := affinity.CompileNode(gpu, added)
	s := e.On(cluster)
	for i, node := range cluster.nodes {
		fmt.Println(node.Name, s.Check(i) == 0, s.Raw(i))
	}
	fmt.Println(s.Explain(0))
	// Output:
	// n1 false 0
	// n2 false 0
	// n3 false 0
	// n4 false 0
	// n5 true 1
	// [node selector: the node lacks topology.kubernetes.io/zone=c]
}
