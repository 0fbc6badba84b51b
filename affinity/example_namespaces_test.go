package affinity_test

import (
	"fmt"
	"iter"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
)

// oneNode is a node with one running pod, in a cluster of two namespaces.
type oneNode struct {
	node *v1.Node
	pod  *v1.Pod
}

func (c oneNode) Len() int                   { return 1 }
func (c oneNode) Node(int) *v1.Node          { return c.node }
func (c oneNode) Pods(int) iter.Seq[*v1.Pod] { return func(yield func(*v1.Pod) bool) { yield(c.pod) } }
func (c oneNode) Namespaces() iter.Seq2[string, map[string]string] {
	return func(yield func(string, map[string]string) bool) {
		_ = yield("shop", map[string]string{"team": "sales"}) && yield("lab", map[string]string{"team": "research"})
	}
}

// A cache of the namespace shop runs on the node. Without namespaces and namespaceSelector a term looks at the pod's own namespace. A
// namespaceSelector looks at the namespaces whose labels match; the empty one at all namespaces.
func ExampleCompilePods() {
	running := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache", Labels: map[string]string{"app": "cache"}}}
	cluster := oneNode{&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{v1.LabelHostname: "n1"}}}, running}
	for _, selector := range []struct {
		text       string
		namespaces *metav1.LabelSelector
	}{
		{"no selector", nil},
		{"team=sales", &metav1.LabelSelector{MatchLabels: map[string]string{"team": "sales"}}},
		{"team=research", &metav1.LabelSelector{MatchLabels: map[string]string{"team": "research"}}},
		{"empty selector", &metav1.LabelSelector{}},
	} {
		web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "web"}}
		web.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "cache"}}, NamespaceSelector: selector.namespaces,
		}}}}
		evaluator, err := affinity.CompilePods(web, affinity.PodOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		state := evaluator.Count(cluster)
		fmt.Println(selector.text+":", state.Check(0) == 0)
	}
	// Output:
	// no selector: false
	// team=sales: true
	// team=research: false
	// empty selector: true
}
