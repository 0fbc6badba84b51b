package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// BenchmarkDistinctRules decides pods with a rule of their own: the spread of a label, or the values of node affinity, that no other pod has.
// The pods differ in labels and requests too.
func BenchmarkDistinctRules(b *testing.B) {
	for name, rule := range map[string]func(p *v1.Pod, i int){
		"spread": func(p *v1.Pod, _ int) {
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"pod": p.Name}}}}
		},
		"nodes": func(p *v1.Pod, i int) {
			p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
				NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
					{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpNotIn, Values: []string{fmt.Sprintf("zone-%d", i%3), p.Name}},
				}}},
			}}}
		},
	} {
		b.Run(name, func(b *testing.B) { decideRules(b, rule) })
	}
}

func decideRules(b *testing.B, rule func(p *v1.Pod, i int)) {
	const nodes = 5_000
	distinct := func(i int, name string) *v1.Pod {
		name = fmt.Sprintf("%s-%d", name, i)
		p := testkit.Pod("default/" + name).Labels(fmt.Sprintf("app=app-%d,pod=%s", i%20, name)).Obj()
		p.Spec.Containers[0].Resources.Requests = testkit.Resources(fmt.Sprintf("cpu=100m,memory=%d", 200<<20+i))
		rule(p, i)
		return p
	}
	var o cluster.Objects
	for i := range nodes {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprintf("node-%d", i)).Zone(fmt.Sprintf("zone-%d", i%3)).Capacity("cpu=32,memory=64Gi").Obj())
	}
	for i := range 2 * nodes {
		p := distinct(i, "run")
		p.Spec.NodeName = o.Nodes[i%nodes].Name
		o.Pods = append(o.Pods, p)
	}
	s, err := cluster.New(o)
	require.NoError(b, err)
	p, err := New(s, benchProfile())
	require.NoError(b, err)
	var pods []*v1.Pod
	for i := range 40_000 {
		pods = append(pods, distinct(i, "new"))
	}
	n := 0
	next := func() {
		if n == len(pods) {
			b.Fatal("more pods are needed for a run this long")
		}
		d := p.Decide(pods[n], Options{})
		if err := s.Assume(pods[n], d.Slot); err != nil {
			b.Fatal(err)
		}
		n++
	}
	for range 100 {
		next()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		next()
	}
}
