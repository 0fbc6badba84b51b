package preemption_test

import (
	"fmt"
	"iter"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/taints"
)

// nodeList is a cache of one's own: three methods are enough to find victims.
type nodeList struct {
	nodes []*v1.Node
	pods  [][]*v1.Pod // of each node
}

func (l nodeList) Len() int                     { return len(l.nodes) }
func (l nodeList) Node(i int) *v1.Node          { return l.nodes[i] }
func (l nodeList) Pods(i int) iter.Seq[*v1.Pod] { return slices.Values(l.pods[i]) }

// The victims of a pod, with disruption budgets and without package placement. Two nodes are full. The budget of db is used up, so
// that web leaves although db has the lower priority. Without the budget db would leave. A pod that db's node alone could take
// gets its room all the same: budgets say who should stay, not who must.
func ExampleWhatIfOver() {
	three, pods := resource.MustParse("3"), resource.MustParse("10")
	node := func(name string, t ...v1.Taint) *v1.Node {
		offered := v1.ResourceList{"cpu": three, "pods": pods}
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{Taints: t}, Status: v1.NodeStatus{Allocatable: offered}}
	}
	pod := func(name string, priority int32) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": name}}}
		p.Spec.Priority = &priority
		p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": three}}}}
		return p
	}
	ssd := v1.Taint{Key: "ssd", Effect: v1.TaintEffectNoSchedule}
	cluster := nodeList{[]*v1.Node{node("n1"), node("n2", ssd)}, [][]*v1.Pod{{pod("db", 5)}, {pod("web", 10)}}}
	db := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
	db.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	db.Status.DisruptionsAllowed = 0 // used up

	victims := func(p *v1.Pod, budgets ...*policyv1.PodDisruptionBudget) preemption.Result {
		tolerations := taints.Compile(p.Spec.Tolerations, taints.Options{})
		rejections := make([]preemption.Rejection, cluster.Len())
		for i := range rejections {
			if tolerations.On(cluster).Check(i) == 0 {
				rejections[i] = preemption.Resolvable // not by a taint, which no pod takes along
			}
		}
		what := preemption.WhatIfOver(cluster, func(view preemption.Cluster, i int) (reasons []string) {
			for _, short := range filter.Lacks(p, view.Node(i), slices.Collect(view.Pods(i)), filter.FitOptions{}) {
				reasons = append(reasons, short.Reason)
			}
			return reasons
		})
		return preemption.Preempt(preemption.Request{
			Pod: p, Cluster: cluster, WhatIf: what, Rejections: rejections, Now: time.Unix(0, 0),
			Budgets: disruption.NewBudgets(budgets, disruption.BudgetOptions{}),
		})
	}
	pay := pod("pay", 100)
	pay.Spec.Tolerations = []v1.Toleration{{Key: "ssd", Operator: v1.TolerationOpExists}}
	for _, r := range []preemption.Result{victims(pay, &db), victims(pay), victims(pod("log", 100), &db)} {
		fmt.Println(r.Victims[0].Pod.Name, "leaves", r.Node, "because of the", r.Criterion, "and breaks", r.Violations, "budgets")
	}
	fmt.Println(victims(pod("batch", 0), &db).Message)
	// Output:
	// web leaves n2 because of the fewest violations of disruption budgets and breaks 0 budgets
	// db leaves n1 because of the lowest of the highest victim priorities and breaks 0 budgets
	// db leaves n1 because of the only candidate and breaks 1 budgets
	// 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.
}
