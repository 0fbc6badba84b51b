package spread_test

import (
	"fmt"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/spread"
)

// hosts is a cluster of one's own: nodes, and the pods on each.
type hosts struct {
	nodes []*v1.Node
	pods  [][]*v1.Pod
}

func (h hosts) Len() int                     { return len(h.nodes) }
func (h hosts) Node(i int) *v1.Node          { return h.nodes[i] }
func (h hosts) Pods(i int) iter.Seq[*v1.Pod] { return slices.Values(h.pods[i]) }

// place is the program of the package comment.
func place(pod *v1.Pod, snapshot spread.Cluster) error {
	hard, err := spread.CompileHard(pod, spread.Options{}) // once for equal pods
	if err != nil {
		return err
	}
	state := hard.Count(snapshot) // once per cluster
	var feasible []int32
	for i := range snapshot.Len() {
		if state.Check(i) == 0 { // per node, no allocation
			feasible = append(feasible, int32(i))
		}
	}
	soft, err := spread.CompileSoft(pod, spread.Options{})
	if err != nil {
		return err
	}
	scores := soft.Count(snapshot)
	scores.Weigh(feasible, nil)
	for _, i := range feasible {
		fmt.Println(i, scores.Raw(int(i)))
	}
	return nil
}

// One pod runs in zone a, none in zone b: a second pod may go to zone b alone.
func ExampleCheck() {
	labels := map[string]string{"app": "web"}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Labels: labels}}
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
	}}
	node := func(zone string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: zone + "1", Labels: map[string]string{v1.LabelTopologyZone: zone}}}
	}
	running := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Labels: labels}}
	snapshot := hosts{[]*v1.Node{node("a"), node("b")}, [][]*v1.Pod{{running}, nil}}
	for i := range snapshot.Len() {
		verdict, err := spread.Check(pod, snapshot, i, spread.Options{}) // 0 allows
		fmt.Println(snapshot.Node(i).Name, verdict == 0, err)
	}
	// Output:
	// a1 false <nil>
	// b1 true <nil>
}

// The skew of each zone: zone a would have two pods more than zone b. On the feasible nodes the raw score counts pods on the host.
func ExampleCompileHard() {
	node := func(name, zone string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: zone}}}
	}
	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{"app": "web"}}}
	selector := &metav1.LabelSelector{MatchLabels: web.Labels}
	web.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{
		{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector},
		{MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: selector},
	}
	cluster := hosts{[]*v1.Node{node("n1", "a"), node("n2", "b"), node("n3", "b")}, [][]*v1.Pod{{web, web}, {web}, {}}}
	hard, err := spread.CompileHard(web, spread.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range cluster.Len() {
		skew := hard.Count(cluster).Explain(i)[0]
		fmt.Println(skew)
	}
	fmt.Println(place(web, cluster))
	// Output:
	// topology.kubernetes.io/zone=a: 2 + 1 - 1 = 2 > 1
	// topology.kubernetes.io/zone=b: 1 + 1 - 1 = 1 <= 1
	// topology.kubernetes.io/zone=b: 1 + 1 - 1 = 1 <= 1
	// 1 1
	// 2 0
	// <nil>
}
