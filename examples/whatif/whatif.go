// Command whatif asks for 100 pending pods which of them would get a node if the cluster were another one. A mark and a rollback
// try a change and take it back. A fork is a second cluster that shares what is equal.
//
//	go run ./examples/whatif
package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

// fit returns how many of the pods get a node when they come one after the other. The snapshot is the same before and after.
func fit(s *cluster.Snapshot, pods []*v1.Pod) int {
	placer := must(placement.NewPlacer(s, placement.DefaultProfile()))
	before, placed := s.Mark(), 0
	defer s.Rollback(before)
	for _, p := range pods {
		if d := placer.Decide(p, placement.Options{}); d.Placed() {
			check(placer.Assume(p, d))
			placed++
		}
	}
	return placed
}

func main() {
	nightly := pod("nightly", "12", "n1")
	snapshot := must(cluster.New(cluster.Objects{
		Nodes: []*v1.Node{node("n1", "32"), node("n2", "32"), node("n3", "32")},
		Pods:  []*v1.Pod{nightly, pod("db", "20", "n2")},
	}))
	var pending []*v1.Pod
	for k := range 100 {
		pending = append(pending, pod(fmt.Sprint("web-", k), []string{"500m", "1", "1500m", "2"}[k%4], ""))
	}
	say := func(s *cluster.Snapshot, what string) {
		fmt.Printf("%-40s %d of %d pods fit\n", what, fit(s, pending), len(pending))
	}
	say(snapshot, "as it is")

	mark := snapshot.Mark()
	check(snapshot.Remove(nightly))
	say(snapshot, "if nightly were gone")
	cordoned := snapshot.Node(snapshot.Slot("n3")).DeepCopy()
	cordoned.Spec.Unschedulable = true
	check(snapshot.Set(cordoned))
	say(snapshot, "if nightly were gone and n3 cordoned")
	snapshot.Rollback(mark)
	say(snapshot, "as it is, again")

	larger := snapshot.Fork()
	check(larger.Set(node("n4", "32")))
	say(larger, "if there were a node n4")
	say(snapshot, "as it is, beside the fork")
}

func must[T any](x T, err error) T {
	check(err)
	return x
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func node(name, cpu string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse("110")}
	return n
}

func pod(name, cpu, node string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
	requests := v1.ResourceList{"cpu": resource.MustParse(cpu)}
	p.Spec = v1.PodSpec{NodeName: node, Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: requests}}}}
	return p
}
