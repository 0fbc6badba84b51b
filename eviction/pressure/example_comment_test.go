package pressure_test

import (
	"fmt"
	"iter"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/eviction/pressure"
)

// watch is the program of the package comment.
func watch(config pressure.Config, every10s iter.Seq[time.Time], stats func() pressure.NodeStats, pods []*v1.Pod, usage map[types.UID]pressure.PodStats, act func(pressure.Decision)) error {
	policy, err := pressure.Compile(pressure.Default(config, "linux"), pressure.Options{})
	if err != nil {
		return err
	}
	var state pressure.State
	for now := range every10s { // older documents: housekeeping-interval
		var decision pressure.Decision
		state, decision = policy.Observe(state, pressure.Observation{Signals: pressure.Measure(stats()), Layout: "single", Pods: pods, Stats: usage}, now)
		act(decision) // report decision.Conditions; do decision.Reclaim, then decision.Eviction
	}
	return nil
}

// The order in which a kubelet evicts the pods of a node that is short of memory, and what it decides in three observations. log is
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
	times := []time.Time{noon, noon.Add(10 * time.Second), noon.Add(20 * time.Second)}
	free := []uint64{700 << 20, 400 << 20, 1200 << 20}
	stats := func() pressure.NodeStats {
		n := pressure.NodeStats{Memory: pressure.CgroupMemory(8<<30, 8<<30, free[0], times[0])}
		free, times = free[1:], times[1:]
		return n
	}
	config := pressure.Config{EvictionHard: map[string]string{"memory.available": "500Mi"}}
	err := watch(config, slices.Values(slices.Clone(times)), stats, pods, usage, func(d pressure.Decision) {
		fmt.Println(d.Conditions, d.Reclaim, d.Eviction != nil && d.Eviction.Pod.Name == "log")
	})
	fmt.Println(err)
	// Output:
	// log 268435456
	// db 1073741824
	// web -1073741824
	// [] [] false
	// [MemoryPressure] [] true
	// [MemoryPressure] [] false
	// <nil>
}
