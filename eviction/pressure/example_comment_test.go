package pressure_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/eviction/pressure"
)

// observe is the program of the package comment: one observation.
func observe(config pressure.Config, stats pressure.NodeStats, pods []*v1.Pod, usage map[types.UID]pressure.PodStats, now time.Time, keep func(pressure.State)) error {
	policy, err := pressure.Compile(pressure.Default(config, "linux"), pressure.Options{})
	if err != nil {
		return err
	}
	var state pressure.State
	observation := pressure.Observation{Signals: pressure.Measure(stats), Layout: "single", Pods: pods, Stats: usage}
	state, decision := policy.Observe(state, observation, now)
	fmt.Println(decision.Conditions, decision.Reclaim, decision.Eviction) // report, then reclaim, then evict
	keep(state)                                                           // for the next observation
	return nil
}

// The order in which a kubelet evicts the pods of a node that is short of memory, and what it decides while 700Mi are free. log is
// over its requests, and so is db, which has a higher priority. web is within its requests and stays to the last.
func ExampleRank_order() {
	pod := func(name string, priority int32, requests string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Status: v1.PodStatus{Phase: v1.PodRunning}}
		p.Spec = v1.PodSpec{Priority: &priority, Containers: []v1.Container{{Name: "c"}}}
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{"memory": resource.MustParse(requests)}
		return p
	}
	uses := func(mib uint64) pressure.PodStats {
		mib <<= 20
		return pressure.PodStats{WorkingSetBytes: &mib}
	}
	pods := []*v1.Pod{pod("web", 0, "4Gi"), pod("db", 100, "1Gi"), pod("log", 0, "1Gi")}
	usage := map[types.UID]pressure.PodStats{"web": uses(3072), "db": uses(2048), "log": uses(1280)}
	for _, r := range pressure.Rank("memory.available", "single", pods, usage, pressure.Options{}) {
		fmt.Println(r.Pod.Name, r.Usage-r.Request) // over its requests, in bytes
	}

	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	stats := pressure.NodeStats{Memory: pressure.CgroupMemory(8<<30, 8<<30, 700<<20, noon)}
	config := pressure.Config{EvictionHard: map[string]string{"memory.available": "500Mi"}}
	err := observe(config, stats, pods, usage, noon, func(pressure.State) {})
	fmt.Println(err)
	// Output:
	// log 268435456
	// db 1073741824
	// web -1073741824
	// [] [] <nil>
	// <nil>
}
