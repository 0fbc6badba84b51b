package optimal_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
)

// exampleNode returns a node with 8 cpu.
func exampleNode(name string) *v1.Node {
	offered := v1.ResourceList{"cpu": resource.MustParse("8"), "pods": resource.MustParse("110")}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}},
		Status:     v1.NodeStatus{Capacity: offered, Allocatable: offered},
	}
}

// examplePod returns a pod that requests cpu. An empty node leaves the pod pending.
func examplePod(name, cpu string, priority int32, node string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: v1.PodSpec{
			NodeName: node, Priority: &priority, SchedulerName: "default-scheduler",
			Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{
				Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)},
			}}},
		},
	}
}

// The pod gpu needs 3 cpu of n1, which is full. All pods there have the same priority. v1.36 lets the first pods of the node come
// back, so that three pods leave. One pod is enough.
func Example() {
	snapshot, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{exampleNode("n1")},
		Pods: []*v1.Pod{
			examplePod("web-1", "1", 10, "n1"), examplePod("db", "4", 10, "n1"),
			examplePod("web-2", "1", 10, "n1"), examplePod("web-3", "1", 10, "n1"), examplePod("web-4", "1", 10, "n1"),
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
	gpu := examplePod("gpu", "3", 100, "")
	failure := plan.Decide(gpu, placement.Options{}).Failure

	search, err := optimal.New(optimal.Options{Order: []optimal.Criterion{optimal.Violations, optimal.Victims}})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, options := range []preemption.Options{{}, search.Options(preemption.Options{})} {
		result := plan.Preempt(gpu, failure, placement.Options{}, placement.PreemptOptions{Now: now, Options: options})
		for _, victim := range result.Victims {
			fmt.Print(victim.Pod.Name, " ")
		}
		fmt.Println("leave", result.Node)
	}
	proof := search.Proof()
	fmt.Println("no better victims exist:", proof.Optimal, "- victims needed:", proof.Bound[optimal.Victims])
	// Output:
	// web-2 web-3 web-4 leave n1
	// db leave n1
	// no better victims exist: true - victims needed: 1
}

// The pods of a job must come together. One victim on each node makes room.
func ExamplePlaceGang() {
	snapshot, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{exampleNode("n1"), exampleNode("n2")},
		Pods: []*v1.Pod{
			examplePod("web-1", "4", 0, "n1"), examplePod("web-2", "2", 0, "n1"),
			examplePod("web-3", "4", 0, "n2"), examplePod("web-4", "2", 0, "n2"),
		},
	})
	if err != nil {
		panic(err)
	}
	plan, err := optimal.PlaceGang(optimal.Gang{Snapshot: snapshot, Pods: []*v1.Pod{
		examplePod("job-0", "6", 100, ""), examplePod("job-1", "6", 100, ""),
	}}, optimal.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.Nodes)
	for _, v := range plan.Victims {
		fmt.Println(v.Pod.Name)
	}
	fmt.Println("no victim can stay:", plan.Minimal)
	// Output:
	// [n1 n2]
	// web-1
	// web-3
	// no victim can stay: true
}

// Which victims come back? The controller of web makes its pods again, and n2 has room for one of them.
func ExampleComeback() {
	web, yes := []*v1.Pod{examplePod("web-1", "4", 0, "n1"), examplePod("web-2", "4", 0, "n1")}, true
	for _, p := range web {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: &yes}}
	}
	snapshot, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{exampleNode("n1"), exampleNode("n2")}, Pods: append(web, examplePod("db", "4", 200, "n2")),
	})
	if err != nil {
		panic(err)
	}
	plan, err := placement.New(snapshot, placement.DefaultProfile())
	if err != nil {
		panic(err)
	}
	gpu := examplePod("gpu", "8", 100, "")
	failed := plan.Decide(gpu, placement.Options{})
	result := plan.Preempt(gpu, failed.Failure, placement.Options{}, placement.PreemptOptions{Now: time.Unix(0, 0)})
	back, err := optimal.NewComeback(snapshot, placement.Profile{})
	if err != nil {
		panic(err)
	}
	returns, err := back.After(gpu, result.Candidate, placement.PreemptOptions{Now: time.Unix(0, 0)})
	if err != nil {
		panic(err)
	}
	for _, r := range returns {
		fmt.Println(r.Pod.Name, r.Fate, r.Node)
	}
	// Output:
	// web-1 moves n2
	// web-2 starves
}

// The two replicas of the StatefulSet db on n1 are the smallest set of victims, but db keeps more than half of its three replicas. The
// three replicas of web leave in their place.
func ExampleQuorums() {
	owned := func(kind, name string, pods ...*v1.Pod) []*v1.Pod {
		yes := true
		for _, p := range pods {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(name), Controller: &yes}}
		}
		return pods
	}
	pods := append(
		owned("StatefulSet", "db", examplePod("db-0", "3", 0, "n1"), examplePod("db-1", "3", 0, "n1"), examplePod("db-2", "3", 0, "n2")),
		owned("ReplicaSet", "web", examplePod("web-1", "2", 0, "n3"), examplePod("web-2", "2", 0, "n3"), examplePod("web-3", "2", 0, "n3"))...)
	snapshot, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{exampleNode("n1"), exampleNode("n2"), exampleNode("n3")},
		Pods:  append(pods, examplePod("busy", "5", 200, "n2")),
	})
	if err != nil {
		panic(err)
	}
	plan, err := placement.New(snapshot, placement.DefaultProfile())
	if err != nil {
		panic(err)
	}
	gpu := examplePod("gpu", "8", 100, "")
	failure := plan.Decide(gpu, placement.Options{}).Failure
	majority := optimal.Quorums(pods, func(owner *metav1.OwnerReference, n int) int {
		if owner.Kind == "StatefulSet" {
			return optimal.Majority(n)
		}
		return 0
	})
	for _, o := range []optimal.Options{{}, {Quorum: majority}} {
		search, err := optimal.New(o)
		if err != nil {
			panic(err)
		}
		result := plan.Preempt(gpu, failure, placement.Options{}, placement.PreemptOptions{
			Now: time.Unix(0, 0), Options: search.Options(preemption.Options{}),
		})
		for _, victim := range result.Victims {
			fmt.Print(victim.Pod.Name, " ")
		}
		fmt.Println("leave", result.Node)
	}
	// Output:
	// db-0 db-1 leave n1
	// web-1 web-2 web-3 leave n3
}
