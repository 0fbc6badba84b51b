package affinity_test

import (
	"fmt"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
)

// The documentation's pod with-node-affinity: a zone of two must hold, a label is preferred with weight 1.
func Example_withNodeAffinity() {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "with-node-affinity"}, Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{
				Key: "topology.kubernetes.io/zone", Operator: v1.NodeSelectorOpIn, Values: []string{"antarctica-east1", "antarctica-west1"},
			}},
		}}},
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1, Preference: v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "another-node-label-key", Operator: v1.NodeSelectorOpIn, Values: []string{"another-node-label-value"}}},
		}}},
	}}}}
	nodes := &rack{}
	for _, labels := range []map[string]string{
		{"topology.kubernetes.io/zone": "antarctica-east1"},
		{"topology.kubernetes.io/zone": "antarctica-west1", "another-node-label-key": "another-node-label-value"},
		{"topology.kubernetes.io/zone": "arctica-north1"},
	} {
		nodes.list = append(nodes.list, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: labels["topology.kubernetes.io/zone"], Labels: labels}})
	}
	e, err := affinity.CompileNode(pod, affinity.NodeOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	state := e.On(nodes)
	for i, n := range nodes.list {
		fmt.Println(n.Name, state.Reasons(state.Check(i)), state.Raw(i))
	}
	// Output:
	// antarctica-east1 [] 0
	// antarctica-west1 [] 1
	// arctica-north1 [node(s) didn't match Pod's node affinity/selector] 0
}

// The documentation's redis and web server, three replicas each on three nodes. Caches keep apart. Each web server keeps apart
// from the others and comes to the node of a cache.
func Example_redisAndWeb() {
	term := func(app string) []v1.PodAffinityTerm {
		return []v1.PodAffinityTerm{{
			TopologyKey: "kubernetes.io/hostname",
			LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{app}},
			}},
		}}
	}
	cache := &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term("store")}}
	server := &v1.Affinity{
		PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term("web-store")},
		PodAffinity:     &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term("store")},
	}
	nodes := &rack{pods: map[string][]*v1.Pod{}}
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		nodes.list = append(nodes.list, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}}})
	}
	for _, app := range []string{"store", "web-store"} {
		for k := range 4 {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(app, "-", k+1), Labels: map[string]string{"app": app}}, Spec: v1.PodSpec{Affinity: cache}}
			if app == "web-store" {
				pod.Spec.Affinity = server
			}
			e, err := affinity.CompilePods(pod, affinity.PodOptions{})
			if err != nil {
				fmt.Println(err)
				return
			}
			state := e.Count(nodes)
			at := slices.IndexFunc(nodes.list, func(n *v1.Node) bool { return state.Check(slices.Index(nodes.list, n)) == 0 })
			if at < 0 {
				fmt.Println(pod.Name, "stays pending:", state.Reasons(state.Check(0)))
				continue
			}
			fmt.Println(pod.Name, "goes to", nodes.list[at].Name)
			nodes.pods[nodes.list[at].Name] = append(nodes.pods[nodes.list[at].Name], pod)
		}
	}
	// Output:
	// store-1 goes to node-1
	// store-2 goes to node-2
	// store-3 goes to node-3
	// store-4 stays pending: [node(s) didn't match pod anti-affinity rules]
	// web-store-1 goes to node-1
	// web-store-2 goes to node-2
	// web-store-3 goes to node-3
	// web-store-4 stays pending: [node(s) didn't match pod anti-affinity rules]
}

// rack is a Cluster of nodes and pods by the name of their node.
type rack struct {
	list []*v1.Node
	pods map[string][]*v1.Pod
}

func (r *rack) Len() int                     { return len(r.list) }
func (r *rack) Node(i int) *v1.Node          { return r.list[i] }
func (r *rack) Pods(i int) iter.Seq[*v1.Pod] { return slices.Values(r.pods[r.list[i].Name]) }
func (r *rack) Namespaces() iter.Seq2[string, map[string]string] {
	return func(func(string, map[string]string) bool) {}
}
