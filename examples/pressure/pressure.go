// Command pressure shows what the kubelet of a node does when memory runs short: the condition of the node, the pods in the
// order in which they would leave, the first of them with the kubelet's message, and how many leave until the node is well again.
//
//	go run ./examples/pressure
package main

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/eviction/pressure"
)

func main() {
	policy, err := pressure.Compile(pressure.Default(pressure.Config{
		EvictionHard:           map[string]string{"memory.available": "500Mi"},
		EvictionMinimumReclaim: map[string]string{"memory.available": "1Gi"},
	}, "linux"), pressure.Options{})
	if err != nil {
		panic(err)
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	o := pressure.Observation{Layout: "single", Stats: map[types.UID]pressure.PodStats{}}
	o.Signals = pressure.Measure(pressure.NodeStats{Memory: pressure.CgroupMemory(16<<30, 16<<30, 400<<20, noon)}) // 400 MiB of 16 GiB are left
	for _, p := range []struct {
		name     string
		priority int32
		requests string
		usedMiB  uint64
	}{
		{"web", 0, "1Gi", 1200},
		{"cache", 0, "0", 700},
		{"db", 1000, "4Gi", 5000},
		{"report", -10, "2Gi", 2000},
		{"dns", 2000000000, "100Mi", 300},
	} {
		pod, used := running(p.name, p.priority, p.requests), p.usedMiB<<20
		o.Pods = append(o.Pods, pod)
		o.Stats[pod.UID] = pressure.PodStats{WorkingSetBytes: &used, Containers: []pressure.ContainerStats{{Name: "main", WorkingSetBytes: &used}}}
	}

	_, d := policy.Observe(pressure.State{}, o, noon)
	fmt.Println("conditions:", d.Conditions)
	for _, r := range pressure.Rank("memory.available", o.Layout, o.Pods, o.Stats, pressure.Options{}) {
		fmt.Printf("%s: priority %d, uses %d MiB, requests %d MiB", r.Pod.Name, r.Priority, r.Usage>>20, r.Request>>20)
		if r.Exempt != "" {
			fmt.Printf(", stays: %s", r.Exempt)
		}
		fmt.Println()
	}
	fmt.Printf("%s leaves now: %s\n", d.Eviction.Pod.Name, strings.TrimSpace(d.Eviction.Message))
	f := policy.Forecast(*d.Acting, o.Signals["memory.available"], o)
	for _, s := range f.Steps {
		fmt.Printf("%s frees %d MiB, then %d MiB are available\n", s.Pod.Name, s.Frees>>20, s.Available>>20)
	}
	fmt.Println("target:", f.Target.String(), "reached:", f.Cleared)
}

func running(name string, priority int32, requests string) *v1.Pod {
	c := v1.Container{Name: "main", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"memory": resource.MustParse(requests)}}}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)},
		Spec:       v1.PodSpec{NodeName: "n1", Priority: &priority, Containers: []v1.Container{c}},
		Status:     v1.PodStatus{Phase: v1.PodRunning},
	}
}
