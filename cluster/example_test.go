package cluster_test

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/cluster"
)

// node returns a node of a zone with 4 cores, 16 GiB and gpus.
func node(name, zone, gpus string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: zone}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("110"),
			"nvidia.com/gpu": resource.MustParse(gpus),
		}},
	}
}

// pod returns a pod with a label app. nodeName "" makes a pending pod.
func pod(name, app, nodeName string, requests v1.ResourceList) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": app}},
		Spec: v1.PodSpec{
			NodeName:   nodeName,
			Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: requests}}},
		},
	}
}

// example is a cluster with nodes n1 to n5 in three zones, two web pods and a db pod.
func example() *cluster.Snapshot {
	small := v1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")}
	s, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{node("n1", "a", "0"), node("n2", "a", "0"), node("n3", "b", "0"), node("n4", "b", "2"), node("n5", "c", "0")},
		Pods:  []*v1.Pod{pod("web-1", "web", "n1", small), pod("web-2", "web", "n3", small), pod("db-1", "db", "n2", small)},
	})
	if err != nil {
		panic(err)
	}
	return s
}

// What would node n4 hold with the gpu pod on it?
func Example() {
	s := example()
	gpu := pod("gpu-1", "gpu", "", v1.ResourceList{"cpu": resource.MustParse("1"), "nvidia.com/gpu": resource.MustParse("1")})
	slot := s.Slot("n4")

	mark := s.Mark()
	if err := s.Assume(gpu, slot); err != nil {
		fmt.Println(err)
	}
	fmt.Println("with the pod:", s.Requested(slot).Describe(s.Schema()))
	s.Rollback(mark)
	fmt.Println("rolled back: ", s.Requested(slot).Describe(s.Schema()))

	s.PodSets("default", "app", "web", func(id int32) {
		_, nodes, counts := s.PodSet(id)
		fmt.Println("web pods on slots", nodes, "count", counts)
	})
	// Output:
	// with the pod: cpu=1000m pods=1 nvidia.com/gpu=1
	// rolled back:  none
	// web pods on slots [0 2] count [1 1]
}

// The errors of a snapshot on which callers decide have names. errors.As finds a *field.Error in every error.
func ExampleSnapshot_Assume() {
	s := example()
	_, twice := cluster.New(cluster.Objects{Nodes: []*v1.Node{node("n1", "a", "0"), node("n1", "b", "0")}})
	for _, err := range []error{
		s.Assume(pod("db-1", "db", "", nil), s.Slot("n5")),
		s.Assume(pod("db-2", "db", "", nil), s.Slot("n6")),
		twice,
	} {
		var e *field.Error
		switch {
		case errors.Is(err, cluster.ErrPlaced):
			fmt.Println("placed already:", err)
		case errors.Is(err, cluster.ErrUnknownNode):
			fmt.Println("unknown node:  ", err)
		case errors.As(err, &e):
			fmt.Println(e.Field+":", e.Type)
		}
	}
	// Output:
	// placed already: pods: Duplicate value: "default/db-1": the pod is on node "n2"
	// unknown node:   slot: Not found: -1: no node is there, slots run from 0 to 4
	// nodes[1].metadata.name: Duplicate value
}

// podsOn returns the number of pods on all nodes.
func podsOn(s *cluster.Snapshot) (n int) {
	for i := range s.Len() {
		for range s.Pods(i) {
			n++
		}
	}
	return n
}

// A change of a fork does not show in the original.
func ExampleSnapshot_Fork() {
	s := example()
	f := s.Fork()
	if err := f.Remove(f.Node(f.Slot("n1"))); err != nil {
		fmt.Println(err)
	}
	fmt.Println("original:", len(s.Order()), "nodes", podsOn(s), "pods")
	fmt.Println("fork:    ", len(f.Order()), "nodes", podsOn(f), "pods", len(f.Orphans()), "orphan")
	// Output:
	// original: 5 nodes 3 pods
	// fork:     4 nodes 2 pods 1 orphan
}

// The change log says how many pods of which set came to a node or left it.
func ExampleSnapshot_Since() {
	s := example()
	seen := s.Version()
	if err := s.Assume(pod("web-3", "web", "", nil), s.Slot("n5")); err != nil {
		fmt.Println(err)
	}
	if err := s.Remove(pod("db-1", "db", "", nil)); err != nil {
		fmt.Println(err)
	}
	s.Since(seen, func(events []cluster.Event) {
		for _, e := range events {
			rep, _, _ := s.PodSet(e.Set)
			fmt.Printf("%+d of %v on %s\n", e.N, rep.Labels, s.Node(int(e.Node)).Name)
		}
	})
	// Output:
	// +1 of map[app:web] on n5
	// -1 of map[app:db] on n2
}

// kube-scheduler scans one node of each zone in turn.
func ExampleSnapshot_Order() {
	s := example()
	for _, i := range s.Order() {
		fmt.Print(s.Node(int(i)).Name, " ")
	}
	// Output:
	// n1 n3 n5 n2 n4
}
