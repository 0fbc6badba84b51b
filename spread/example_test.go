package spread_test

import (
	"fmt"
	"iter"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/spread"
)

// nodes is a Cluster: the three required methods are enough.
type nodes struct {
	list []*v1.Node
	pods map[string][]*v1.Pod
}

func (c *nodes) Len() int                     { return len(c.list) }
func (c *nodes) Node(i int) *v1.Node          { return c.list[i] }
func (c *nodes) Pods(i int) iter.Seq[*v1.Pod] { return slices.Values(c.pods[c.list[i].Name]) }

func node(name, zone string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: zone}}}
}

func pod(name, app string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": app}}}
}

// shop is the running cluster of the examples: three zones, five nodes, pods web, db and gpu.
func shop() *nodes {
	return &nodes{
		list: []*v1.Node{node("n1", "a"), node("n2", "a"), node("n3", "b"), node("n4", "b"), node("n5", "c")},
		pods: map[string][]*v1.Pod{
			"n1": {pod("web-1", "web"), pod("web-2", "web"), pod("db-1", "db")},
			"n3": {pod("web-3", "web")},
			"n5": {pod("web-4", "web"), pod("gpu-1", "gpu")},
		},
	}
}

// web returns another replica of web with one constraint by zone.
func web(action v1.UnsatisfiableConstraintAction) *v1.Pod {
	p := pod("web-5", "web")
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew:           1,
		TopologyKey:       v1.LabelTopologyZone,
		WhenUnsatisfiable: action,
		LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}}
	return p
}

func Example() {
	cluster := shop()
	hard, err := spread.CompileHard(web(v1.DoNotSchedule), spread.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	state := hard.Count(cluster)
	for i := range cluster.Len() {
		fmt.Println(cluster.Node(i).Name, state.Explain(i)[0], state.Reasons(state.Check(i)))
	}
	// Output:
	// n1 topology.kubernetes.io/zone=a: 2 + 1 - 1 = 2 > 1 [node(s) didn't match pod topology spread constraints]
	// n2 topology.kubernetes.io/zone=a: 2 + 1 - 1 = 2 > 1 [node(s) didn't match pod topology spread constraints]
	// n3 topology.kubernetes.io/zone=b: 1 + 1 - 1 = 1 <= 1 []
	// n4 topology.kubernetes.io/zone=b: 1 + 1 - 1 = 1 <= 1 []
	// n5 topology.kubernetes.io/zone=c: 1 + 1 - 1 = 1 <= 1 []
}

func ExampleScores() {
	scores, err := spread.Scores(web(v1.ScheduleAnyway), shop(), []int{0, 2, 4}, spread.Options{})
	fmt.Println(scores, err)
	// Output: [66 100 100] <nil>
}

// replicaSets are the owners of a namespace that has only ReplicaSets.
type replicaSets map[string]*appsv1.ReplicaSet

func (r replicaSets) ReplicaSet(_, name string) *appsv1.ReplicaSet { return r[name] }

func (replicaSets) Services(string) iter.Seq[*v1.Service]                          { return func(func(*v1.Service) bool) {} }
func (replicaSets) ReplicationController(string, string) *v1.ReplicationController { return nil }
func (replicaSets) StatefulSet(string, string) *appsv1.StatefulSet                 { return nil }

// Default constraints spread the pods of a ReplicaSet that have no constraints in their spec.
func ExampleOptions() {
	controller := true
	p := pod("web-5", "web")
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: &controller}}
	owners := replicaSets{"web": {Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}}
	scores, err := spread.Scores(p, shop(), []int{0, 1, 2, 3, 4}, spread.Options{Owners: owners})
	fmt.Println(scores, err)
	// Output: [61 92 84 100 84] <nil>
}

func ExampleHardState_Report() {
	hard, err := spread.CompileHard(web(v1.DoNotSchedule), spread.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(hard.Count(shop()).Report()[0])
	// Output:
	// constraint 0: topology.kubernetes.io/zone, maxSkew 1, minDomains 1, selector app=web
	//   a: 2 pods on 2 nodes, room for 0
	//   b: 1 pods on 2 nodes, room for 1
	//   c: 1 pods on 1 nodes, room for 1
	//   minimum 1 (set by b, c)
}

func ExampleHardState_Place() {
	cluster := shop()
	hard, err := spread.CompileHard(web(v1.DoNotSchedule), spread.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	slots, proven := hard.Count(cluster).Place(6, spread.PlaceOptions{Room: func(int) int { return 2 }})
	for _, i := range slots {
		fmt.Print(cluster.Node(i).Name, " ")
	}
	fmt.Println(proven)
	// Output: n3 n5 n1 n4 n5 n2 true
}

func ExampleHardState_ScaleDownOrder() {
	cluster := shop()
	hard, err := spread.CompileHard(web(v1.DoNotSchedule), spread.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var replicas []spread.Replica
	for i := range cluster.Len() {
		for p := range cluster.Pods(i) {
			if p.Labels["app"] == "web" {
				replicas = append(replicas, spread.Replica{Pod: p, Slot: i})
			}
		}
	}
	for _, d := range hard.Count(cluster).ScaleDownOrder(replicas, 2) {
		fmt.Println(d.Pod.Name, d.Excess)
	}
	// Output:
	// web-1 0
	// web-2 0
}

// The weights of the domains depend on the feasible nodes, so Weigh comes before Raw.
func ExampleSoft() {
	cluster := shop()
	soft, err := spread.CompileSoft(web(v1.ScheduleAnyway), spread.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	state, feasible := soft.Count(cluster), []int32{0, 2, 4}
	state.Weigh(feasible, nil)
	for _, slot := range feasible {
		i := int(slot)
		fmt.Println(cluster.Node(i).Name, state.Raw(i))
	}
	// Output:
	// n1 3
	// n3 2
	// n5 2
}

// Preemption asks whether n1 would take the pod if web-1 left.
func ExampleHardState_NewTrial() {
	cluster := shop()
	hard, err := spread.CompileHard(web(v1.DoNotSchedule), spread.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	state := hard.Count(cluster)
	trial := state.NewTrial()
	trial.Remove(cluster.pods["n1"][0], 0)
	fmt.Println(state.Reasons(state.Check(0)), trial.Check(0) == 0)
	// Output: [node(s) didn't match pod topology spread constraints] true
}

// CheckGroup finds what is wrong with a group of pods before the scheduler sees them.
func ExampleCheckGroup() {
	stray, other := web(v1.DoNotSchedule), web(v1.DoNotSchedule)
	stray.Name, stray.Labels = "web-7", map[string]string{"app": "wbe"}
	other.Name = "web-6"
	other.Spec.TopologySpreadConstraints[0].MaxSkew = 2
	for _, finding := range spread.CheckGroup([]*v1.Pod{web(v1.DoNotSchedule), other, stray}, shop()) {
		fmt.Println(finding.Kind, finding.Pods, finding.Message)
	}
	// Output:
	// MixedConstraints [shop/web-6] constraints differ from those of shop/web-5
	// SelectorMissesPod [shop/web-7] labelSelector does not match the pod's own labels: placing it does not change the skew
	// SelectorMissesGroup [shop/web-5 shop/web-6] labelSelector matches the pod itself and not all pods of the group
}
