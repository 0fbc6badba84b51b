package cluster_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// company is the running example: 3 zones, 5 nodes, web and db pods, and a gpu pod to come.
func company() cluster.Objects {
	return cluster.Objects{
		Nodes: []*v1.Node{
			testkit.Node("node-1").Zone("a").Capacity("cpu=4,memory=16Gi").Obj(),
			testkit.Node("node-2").Zone("a").Capacity("cpu=4,memory=16Gi").Obj(),
			testkit.Node("node-3").Zone("b").Capacity("cpu=4,memory=16Gi").Obj(),
			testkit.Node("node-4").Zone("b").Capacity("cpu=4,memory=16Gi").Obj(),
			testkit.Node("node-5").Zone("c").Capacity("cpu=8,memory=32Gi,nvidia.com/gpu=2").Obj(),
		},
		Pods: []*v1.Pod{
			testkit.Pod("web-1").Labels("app=web").Request("cpu=500m,memory=1Gi").On("node-1").Obj(),
			testkit.Pod("web-2").Labels("app=web").Request("cpu=500m,memory=1Gi").On("node-3").Obj(),
			testkit.Pod("db-1").Labels("app=db").Request("cpu=2,memory=8Gi").RequireApart(v1.LabelHostname, "app=db").On("node-2").Obj(),
		},
	}
}

func mustNew(o cluster.Objects) *cluster.Snapshot {
	s, err := cluster.New(o)
	if err != nil {
		panic(err)
	}
	return s
}

func Example() {
	s := mustNew(company())
	gpu := testkit.Pod("gpu-1").Labels("app=gpu").Request("cpu=1,nvidia.com/gpu=1").Obj()
	slot := s.Slot("node-5")

	mark := s.Mark()
	if err := s.Assume(gpu, slot); err != nil {
		fmt.Println(err)
	}
	fmt.Println("with:   ", s.Requested(slot).Describe(s.Schema()))
	s.Rollback(mark)
	fmt.Println("without:", s.Requested(slot).Describe(s.Schema()))

	zones, n, have := s.Domains(v1.LabelTopologyZone)
	fmt.Println("zones:  ", zones, n, have)
	s.PodSets("default", "app", "web", func(id int32) {
		_, nodes, counts := s.PodSet(id)
		fmt.Println("web on: ", nodes, counts)
	})
	// Output:
	// with:    cpu=1000m pods=1 nvidia.com/gpu=1
	// without: none
	// zones:   [0 0 1 1 2] 3 5
	// web on:  [0 2] [1 1]
}

// A fork goes its own way.
func ExampleSnapshot_Fork() {
	s := mustNew(company())
	f := s.Fork()
	if err := f.RemoveNode("node-1"); err != nil {
		fmt.Println(err)
	}
	fmt.Println("original:", s.NodeCount(), "nodes", s.TotalPods(), "pods")
	fmt.Println("fork:    ", f.NodeCount(), "nodes", f.TotalPods(), "pods", len(f.Orphans()), "orphan")
	// Output:
	// original: 5 nodes 3 pods
	// fork:     4 nodes 2 pods 1 orphan
}

// The change log tells a reader which pod sets changed where.
func ExampleSnapshot_Since() {
	s := mustNew(company())
	seen := s.Version()
	if err := s.Assume(testkit.Pod("web-3").Labels("app=web").Obj(), s.Slot("node-5")); err != nil {
		fmt.Println(err)
	}
	if err := s.Forget(testkit.Pod("db-1").Obj()); err != nil {
		fmt.Println(err)
	}
	s.Since(seen, func(events []cluster.Event) {
		for _, e := range events {
			rep, _, _ := s.PodSet(e.Set)
			fmt.Printf("%+d of %v on %s, term set %d\n", e.N, rep.Labels, s.Node(int(e.Node)).Name, e.Terms)
		}
	})
	// Output:
	// +1 of map[app:web] on node-5, term set -1
	// -1 of map[app:db] on node-2, term set 0
}

// kube-scheduler goes through the zones in turn.
func ExampleSnapshot_Order() {
	s := mustNew(company())
	for _, i := range s.Order() {
		fmt.Print(s.Node(int(i)).Name, " ")
	}
	// Output:
	// node-1 node-3 node-5 node-2 node-4
}
