package kubelet_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/overhead/kubelet"
	"github.com/podberth/podberth/release"
)

func pod(name, requests, limits string) *v1.Pod {
	list := func(memory string) v1.ResourceList {
		if memory == "" {
			return nil
		}
		return v1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse(memory)}
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: name, Resources: v1.ResourceRequirements{Requests: list(requests), Limits: list(limits)},
		}}},
	}
}

// The class follows from requests and limits.
func ExampleQoS() {
	fmt.Println(kubelet.QoS(pod("db", "1Gi", "1Gi"), release.Current))
	fmt.Println(kubelet.QoS(pod("web", "1Gi", "2Gi"), release.Current))
	fmt.Println(kubelet.QoS(pod("gpu", "", ""), release.Current))
	// Output:
	// Guaranteed
	// Burstable
	// BestEffort
}

// A container without a cpu limit leaves the pod without a CFS quota.
func ExamplePodCgroup() {
	web := pod("web", "256Mi", "256Mi")
	delete(web.Spec.Containers[0].Resources.Limits, "cpu")
	g := kubelet.PodCgroup(web, kubelet.CgroupOptions{})
	fmt.Println(g.Shares, g.Weight, g.QuotaMicros == nil, *g.MemoryBytes)
	// Output: 512 20 true 268435456
}

// The OOM killer takes the process with the largest sum of memory share and oom_score_adj.
func ExampleOOMOrder() {
	const machine = 10 << 30 // bytes
	web, db := pod("web", "1Gi", "2Gi"), pod("db", "6Gi", "6Gi")
	var processes []kubelet.Process
	for _, p := range []*v1.Pod{web, db} {
		adj, err := kubelet.OOMScoreAdj(p, &p.Spec.Containers[0], machine, release.Current)
		if err != nil {
			fmt.Println(err)
			return
		}
		processes = append(processes, kubelet.Process{Name: p.Name, MemoryBytes: 2 << 30, OOMScoreAdj: adj})
	}
	order, err := kubelet.OOMOrder(processes, machine)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range order {
		fmt.Println(p.Name, p.OOMScoreAdj)
	}
	// Output:
	// web 900
	// db -997
}

// What does a kubelet say to a pod that names its node?
func ExampleAdmission() {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{
		"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi"), "pods": resource.MustParse("110"),
	}}}
	db := pod("db", "900Mi", "")
	db.Spec.NodeName = "n1"
	failure, rejected := kubelet.Admission{}.Admit(db, node, []*v1.Pod{pod("web", "200Mi", "")})
	fmt.Println(rejected, failure.Reason)
	fmt.Println(failure.Message)
	// Output:
	// true OutOfmemory
	// Pod was rejected: Node didn't have enough resource: memory, requested: 943718400, used: 209715200, capacity: 1073741824
}
