package pressure_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/pressure"
)

// One operation is one observation of a node of 110 pods.
func BenchmarkObserve(b *testing.B) {
	p := compile(b, pressure.Default(pressure.Config{}, pressure.Linux), pressure.Options{})
	var pods []*v1.Pod
	var use []pressure.PodStats
	for i := range 110 {
		pods = append(pods, pod(fmt.Sprintf("p%d", i), int32(i%3), "memory=100Mi"))
		use = append(use, memory(int64(i)*mi))
	}
	for name, available := range map[string]string{"quiet": "5Gi", "acting": "50Mi"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			o := pressure.Observation{Layout: pressure.Single, Pods: pods, Stats: stats(pods, use...), Signals: measured(pressure.MemoryAvailable, available, "10Gi", epoch)}
			for range b.N {
				_, d := p.Observe(pressure.State{Layout: pressure.Single}, o, epoch)
				if (d.Eviction != nil) != (name == "acting") {
					b.Fatal(name)
				}
			}
		})
	}
}
