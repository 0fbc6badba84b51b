package pressure_test

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

// Node n3 runs three pods. web and gpu use more memory than they request. db is more important than both.
func podsOfN3() []*v1.Pod {
	pod := func(name string, priority int32, memory string) *v1.Pod {
		c := v1.Container{Name: "main"}
		if memory != "" {
			c.Resources.Requests = v1.ResourceList{v1.ResourceMemory: resource.MustParse(memory)}
		}
		return &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
			Spec:       v1.PodSpec{NodeName: "n3", Priority: &priority, Containers: []v1.Container{c}},
			Status:     v1.PodStatus{Phase: v1.PodRunning},
		}
	}
	return []*v1.Pod{pod("web", 0, "1Gi"), pod("db", 1000, "4Gi"), pod("gpu", 0, "")}
}

// uses is the usage of the pods of n3, by UID.
func uses() map[types.UID]pressure.PodStats {
	memory := func(mib uint64) pressure.PodStats {
		bytes := mib << 20
		return pressure.PodStats{WorkingSetBytes: &bytes, Containers: []pressure.ContainerStats{{Name: "main", WorkingSetBytes: &bytes}}}
	}
	return map[types.UID]pressure.PodStats{"web": memory(1200), "db": memory(5 * 1024), "gpu": memory(600)}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// The node is short of memory. The example prints the condition, the order of the pods, the evicted pod, and the forecast.
func Example() {
	policy, err := pressure.Compile(pressure.Default(pressure.Config{
		EvictionHard:           map[string]string{"memory.available": "500Mi"},
		EvictionMinimumReclaim: map[string]string{"memory.available": "1Gi"},
	}, "linux"), pressure.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	observation := pressure.Observation{
		Signals: pressure.Measure(pressure.NodeStats{Memory: pressure.CgroupMemory(8<<30, 8<<30, 400<<20, noon)}),
		Layout:  "single", Pods: podsOfN3(), Stats: uses(),
	}
	_, decision := policy.Observe(pressure.State{}, observation, noon)
	fmt.Println(decision.Conditions, decision.Event)
	fmt.Println(decision.Eviction.Pod.Name, "in", decision.Eviction.GraceSeconds, "s:", strings.TrimSpace(decision.Eviction.Message))
	for _, s := range policy.Forecast(*decision.Acting, observation.Signals["memory.available"], observation).Steps {
		fmt.Println(s.Pod.Name, "frees", s.Frees>>20, "MiB")
	}
	// Output:
	// [MemoryPressure] Attempting to reclaim memory
	// gpu in 1 s: The node was low on resource: memory. Threshold quantity: 500Mi, available: 400Mi. Container main was using 600Mi, request is 0, has larger consumption of memory.
	// gpu frees 600 MiB
	// web frees 1200 MiB
}

// All three pods exceed their requests. The lower priority goes first, then the larger excess.
func ExampleRank() {
	for _, r := range pressure.Rank("memory.available", "single", podsOfN3(), uses(), pressure.Options{}) {
		fmt.Printf("%s: priority %d, uses %d MiB of %d MiB\n", r.Pod.Name, r.Priority, r.Usage>>20, r.Request>>20)
	}
	// Output:
	// gpu: priority 0, uses 600 MiB of 0 MiB
	// web: priority 0, uses 1200 MiB of 1024 MiB
	// db: priority 1000, uses 5120 MiB of 4096 MiB
}

// Before the kubelet evicts a pod because of a full disk, it deletes dead containers and unused images.
func ExampleReclaims() {
	fmt.Println(pressure.Reclaims("nodefs.available", "single"))
	fmt.Println(pressure.Reclaims("imagefs.available", "split"))
	fmt.Println(pressure.Reclaims("memory.available", "single"))
	// Output:
	// [containerGC imageGC]
	// [imageGC]
	// []
}

// The kubelet deletes unused images and measures again. Enough is available then, and no pod is evicted.
func ExamplePolicy_Relieved() {
	policy, err := pressure.Compile(pressure.Config{
		EvictionHard:           map[string]string{"nodefs.available": "1Gi"},
		EvictionMinimumReclaim: map[string]string{"nodefs.available": "500Mi"},
	}, pressure.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	disk := func(mib int64, at time.Time) map[pressure.Signal]pressure.Measurement {
		return map[pressure.Signal]pressure.Measurement{"nodefs.available": {Available: mib << 20, Capacity: 100 << 30, Time: at}}
	}
	state, decision := policy.Observe(pressure.State{}, pressure.Observation{Signals: disk(900, noon), Layout: "single", Pods: podsOfN3()}, noon)
	fmt.Println(decision.Reclaim)
	fmt.Println(policy.Relieved(state, disk(1500, noon.Add(time.Second))))
	fmt.Println(policy.Relieved(state, disk(1600, noon.Add(time.Second))))
	// Output:
	// [containerGC imageGC]
	// false
	// true
}

// A node that is short of memory refuses BestEffort pods.
func ExampleAdmit() {
	pods := podsOfN3()
	for _, p := range pods {
		admitted, message := pressure.Admit(p, []v1.NodeConditionType{v1.NodeMemoryPressure})
		fmt.Printf("%s %v %q\n", p.Name, admitted, message)
	}
	// Output:
	// web true ""
	// db true ""
	// gpu false "The node had condition: [MemoryPressure]. "
}

// A critical pod lacks 1Gi of memory at admission. It displaces the pod whose request is nearest to that amount.
func ExampleCriticalVictims() {
	pods := podsOfN3()
	priority := int32(2000001000)
	proxy := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "proxy"}, Spec: v1.PodSpec{Priority: &priority}}
	victims, err := pressure.CriticalVictims(proxy, pods, []pressure.Missing{{Name: v1.ResourceMemory, Amount: 1 << 30}})
	for _, p := range victims {
		fmt.Println("Preempting", p.Name)
	}
	fmt.Println(err)
	_, err = pressure.CriticalVictims(proxy, pods, []pressure.Missing{{Name: v1.ResourceMemory, Amount: 6 << 30}})
	fmt.Println(err)
	// Output:
	// Preempting web
	// <nil>
	// preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: memory, q: 1073741824), ]
}

// The documentation says that a signal has a quantity or a percentage, not both. The kubelet accepts several values and
// uses the last one.
func ExampleParseThresholds() {
	hard, warnings, err := pressure.ParseThresholds("memory.available<10%,nodefs.available<10%,memory.available<1Gi")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(warnings)
	policy, err := pressure.Compile(pressure.Config{EvictionHard: hard}, pressure.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range policy.Thresholds("single") {
		fmt.Println(t)
	}
	// Output:
	// [memory.available has the values 10% and 1Gi: the kubelet uses the last one, 1Gi]
	// memory.available<1Gi
	// nodefs.available<10%
	// containerfs.available<10%
}
