package pressure_test

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/internal/testkit"
)

func memory(bytes uint64) pressure.PodStats {
	return pressure.PodStats{WorkingSetBytes: &bytes, Containers: []pressure.ContainerStats{{Name: "c", WorkingSetBytes: &bytes}}}
}

// nodeB1 is a node of the three-zone cluster of all examples with a web, a db and a gpu pod.
func nodeB1() ([]*v1.Pod, map[types.UID]pressure.PodStats) {
	web := testkit.Pod("web-0").Request("memory=1Gi").On("b1").Obj()
	db := testkit.Pod("db-0").Priority(1000).Request("memory=4Gi").On("b1").Obj()
	gpu := testkit.Pod("gpu-0").On("b1").Obj()
	pods := []*v1.Pod{web, db, gpu}
	return pods, map[types.UID]pressure.PodStats{web.UID: memory(1200 << 20), db.UID: memory(5 << 30), gpu.UID: memory(600 << 20)}
}

func Example() {
	policy, err := pressure.Compile(pressure.Default(pressure.Config{
		EvictionHard:           map[string]string{"memory.available": "500Mi"},
		EvictionMinimumReclaim: map[string]string{"memory.available": "1Gi"},
	}, "linux"), pressure.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	pods, use := nodeB1()
	now := testkit.Epoch
	observation := pressure.Observation{
		Signals: pressure.Measure(pressure.NodeStats{Memory: pressure.CgroupMemory(8<<30, 8<<30, 400<<20, now)}),
		Layout:  "single", Pods: pods, Stats: use,
	}
	_, decision := policy.Observe(pressure.State{}, observation, now)
	fmt.Println(decision.Conditions, decision.Event)
	for _, r := range decision.Ranking {
		fmt.Println(r.Pod.Name, r.Exceeds, r.Priority)
	}
	fmt.Println(strings.TrimSpace(decision.Eviction.Message))
	for _, s := range policy.Forecast(*decision.Acting, observation.Signals[decision.Acting.Signal], observation).Steps {
		fmt.Println(s.Pod.Name, s.Frees>>20, "MiB")
	}
	// Output:
	// [MemoryPressure] Attempting to reclaim memory
	// gpu-0 true 0
	// web-0 true 0
	// db-0 true 1000
	// The node was low on resource: memory. Threshold quantity: 500Mi, available: 400Mi. Container c was using 600Mi, request is 0, has larger consumption of memory.
	// gpu-0 600 MiB
	// web-0 1200 MiB
}

func ExampleAdmit() {
	_, use := nodeB1()
	best := testkit.Pod("web-1").Obj()
	admitted, message := pressure.Admit(best, []v1.NodeConditionType{v1.NodeMemoryPressure})
	fmt.Println(len(use), admitted, message)
	// Output: 3 false The node had condition: [MemoryPressure].
}

// A critical pod that lacks 1Gi of memory at admission displaces the pod whose request is nearest to that.
func ExampleCriticalVictims() {
	pods, _ := nodeB1()
	proxy := testkit.Pod("proxy").Priority(2000001000).Request("memory=1Gi").Obj()
	victims, err := pressure.CriticalVictims(proxy, pods, []pressure.Missing{{Name: v1.ResourceMemory, Amount: 1 << 30}})
	for _, p := range victims {
		fmt.Println("Preempting", p.Name)
	}
	fmt.Println(err)
	_, err = pressure.CriticalVictims(proxy, pods, []pressure.Missing{{Name: v1.ResourceMemory, Amount: 6 << 30}})
	fmt.Println(err)
	// Output:
	// Preempting web-0
	// <nil>
	// preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: memory, q: 1073741824), ]
}

func ExampleParseThresholds() {
	hard, _, err := pressure.ParseThresholds("memory.available<500Mi,nodefs.available<10%")
	if err != nil {
		fmt.Println(err)
		return
	}
	policy, err := pressure.Compile(pressure.Config{EvictionHard: hard}, pressure.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range policy.Thresholds("single") {
		fmt.Println(t)
	}
	// Output:
	// memory.available<500Mi
	// nodefs.available<10%
	// containerfs.available<10%
}
