package spread_test

import (
	"fmt"
	"iter"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/spread"
)

// emptyNodes is a cluster without pods.
type emptyNodes []*v1.Node

func (c emptyNodes) Len() int                   { return len(c) }
func (c emptyNodes) Node(i int) *v1.Node        { return c[i] }
func (c emptyNodes) Pods(int) iter.Seq[*v1.Pod] { return func(func(*v1.Pod) bool) {} }

// Which zones count? By default nodeAffinityPolicy is Honor: the pod selects zones a and b, so zone c does not count. nodeTaintsPolicy is
// Ignore: zone b counts although its node has a taint. Then nodeAffinityPolicy is Ignore, and then nodeTaintsPolicy is Honor.
func ExampleOptions_policies() {
	node := func(name, zone string, list ...v1.Taint) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone}}, Spec: v1.NodeSpec{Taints: list}}
	}
	cluster := emptyNodes{node("n1", "a"), node("n2", "b", v1.Taint{Key: "gpu", Effect: v1.TaintEffectNoSchedule}), node("n3", "c")}
	honor, ignore := v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore
	for _, policies := range []struct{ affinity, taints *v1.NodeInclusionPolicy }{{nil, nil}, {&ignore, nil}, {nil, &honor}} {
		web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{"app": "web"}}}
		web.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{
				Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"a", "b"},
			}}}},
		}}}
		web.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector:      &metav1.LabelSelector{MatchLabels: web.Labels},
			NodeAffinityPolicy: policies.affinity, NodeTaintsPolicy: policies.taints,
		}}
		hard, err := spread.CompileHard(web, spread.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		var zones []string
		for _, d := range hard.Count(cluster).Report()[0].Domains {
			zones = append(zones, d.Value)
		}
		fmt.Println(strings.Join(zones, " "))
	}
	// Output:
	// a b
	// a b c
	// a
}
