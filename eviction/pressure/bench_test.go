package pressure

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// An operation is one observation of a node with 110 pods.
func BenchmarkObserve(b *testing.B) {
	p := compile(b, Default(Config{}, "linux"), Options{})
	var pods []*v1.Pod
	var use []PodStats
	for i := range 110 {
		pods = append(pods, pod(fmt.Sprintf("p%d", i), int32(i%3), "memory=100Mi"))
		use = append(use, memory(int64(i)*mi))
	}
	for name, available := range map[string]string{"quiet": "5Gi", "acting": "50Mi"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			o := Observation{Layout: singleFilesystem, Pods: pods, Stats: stats(pods, use...), Signals: measured(memoryAvailable, available, "10Gi", epoch)}
			for range b.N {
				_, d := p.Observe(State{Layout: singleFilesystem}, o, epoch)
				if (d.Eviction != nil) != (name == "acting") {
					b.Fatal(name)
				}
			}
		})
	}
}
