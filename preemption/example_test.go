package preemption_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// exampleNode returns a node with 4 cpu in a zone.
func exampleNode(name, zone string) *v1.Node {
	offered := v1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("110")}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: zone}},
		Status:     v1.NodeStatus{Capacity: offered, Allocatable: offered},
	}
}

// examplePod returns a pod that requests cpu. An empty node leaves the pod pending.
func examplePod(app, name, cpu string, priority int32, node string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": app}},
		Spec: v1.PodSpec{
			NodeName: node, Priority: &priority, SchedulerName: "default-scheduler",
			Containers: []v1.Container{{Name: app, Resources: v1.ResourceRequirements{
				Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)},
			}}},
		},
	}
}

// exampleCluster returns five nodes in three zones. db has the lowest priority, and its disruption budget is used up.
func exampleCluster() (*cluster.Snapshot, *disruption.Budgets, error) {
	snapshot, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{
			exampleNode("n1", "a"), exampleNode("n2", "a"), exampleNode("n3", "b"), exampleNode("n4", "b"), exampleNode("n5", "c"),
		},
		Pods: []*v1.Pod{
			examplePod("db", "db-1", "3", 10, "n1"), examplePod("web", "web-2", "3", 102, "n2"),
			examplePod("web", "web-3", "3", 101, "n3"), examplePod("web", "web-4", "3", 104, "n4"), examplePod("web", "web-5", "3", 105, "n5"),
		},
	})
	budgets := disruption.NewBudgets([]*policyv1.PodDisruptionBudget{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}},
	}}, disruption.BudgetOptions{})
	return snapshot, budgets, err
}

// The pod gpu fits on no node. Preemption finds the pod that leaves: not db, whose budget allows no disruption.
func Example() {
	snapshot, budgets, err := exampleCluster()
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := placement.New(snapshot, placement.DefaultProfile())
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu := examplePod("gpu", "gpu", "2", 1000, "")
	fmt.Println(plan.Decide(gpu, placement.Options{}).Failure.Text())

	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := plan.Preempt(gpu, nil, placement.Options{}, placement.PreemptOptions{Budgets: budgets, Now: now})
	fmt.Println(r.Outcome, r.Node, "by", r.Criterion)
	actions := r.Actions(gpu, nil)
	for _, pod := range actions.Evict {
		fmt.Println("delete", pod.Name, "because of", actions.Condition.Reason)
	}
	fmt.Println("nominate gpu to", actions.Nominate)
	// Output:
	// 0/5 nodes are available: 5 Insufficient cpu.
	// Success n3 by lowest of the highest victim priorities
	// delete web-3 because of PreemptionByScheduler
	// nominate gpu to n3
}

// Preempt answers one request. The caller passes what the failed attempt said about each node.
func ExamplePreempt() {
	snapshot, _, err := exampleCluster()
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := placement.New(snapshot, placement.DefaultProfile())
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu := examplePod("gpu", "gpu", "2", 1000, "")
	attempt := plan.Prepare(gpu)
	request := preemption.Request{
		Pod: gpu, Cluster: snapshot, WhatIf: attempt.WhatIf(placement.Options{}),
		Rejections: attempt.Rejections(nil, placement.Options{}), Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	r := preemption.Preempt(request)
	fmt.Println(r.Node, r.Victims[0].Pod.Name, "of", len(r.Candidates), "candidates")

	never := v1.PreemptNever
	gpu.Spec.PreemptionPolicy = &never
	r = preemption.Preempt(request)
	fmt.Println(r.Outcome, r.Message)
	// Output:
	// n1 db-1 of 5 candidates
	// Unschedulable not eligible due to preemptionPolicy=Never.
}

// Pods of negative priority keep room free. A pod of the usual priority takes their place.
func Example_placeholders() {
	snapshot, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{exampleNode("n1", "a"), exampleNode("n2", "a")},
		Pods: []*v1.Pod{
			examplePod("web", "web-1", "3", 0, "n1"), examplePod("room", "room-1", "1", -10, "n1"),
			examplePod("web", "web-2", "2", 0, "n2"), examplePod("room", "room-2", "2", -10, "n2"),
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := placement.New(snapshot, placement.DefaultProfile())
	if err != nil {
		fmt.Println(err)
		return
	}
	db := examplePod("db", "db", "2", 0, "")
	r := plan.Preempt(db, nil, placement.Options{}, placement.PreemptOptions{Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	fmt.Println(r.Node, r.Victims[0].Pod.Name)
	// Output: n2 room-2
}

func ExampleCandidateArgs_Validate() {
	percentage := int32(101)
	fmt.Println(preemption.CandidateArgs{MinPercentage: &percentage}.Validate(nil).ToAggregate())
	// Output: minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]
}
