package overhead

import (
	"testing"

	"github.com/podberth/podberth/internal/plainpod"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

func BenchmarkAppendRequests(b *testing.B) {
	for _, c := range []struct{ name, pod string }{
		{"one container", "container a requests cpu=500m,memory=100Mi"},
		{"kata", testkit.Kata},
		{"resized with status", "container a requests cpu=4,memory=1Gi\nstatus a requests cpu=2,memory=1Gi allocated cpu=3,memory=1Gi"},
		{"gpu, sidecar and init", "init i requests cpu=2\nsidecar s requests memory=1Gi\ncontainer a requests cpu=100m,memory=1Gi,example.com/gpu=1"},
	} {
		b.Run(c.name, func(b *testing.B) {
			pod, schema := testkit.Containers(c.pod), new(resources.Schema)
			schema.Intern("example.com/gpu")
			row := make(resources.Vector, 0, 8)
			b.ReportAllocs()
			for b.Loop() {
				row = AppendRequests(row[:0], schema, pod, Options{UseStatus: true})
			}
			if row.At(resources.CPU) == 0 {
				b.Fatal("nothing computed")
			}
		})
	}
}

func BenchmarkNonZero(b *testing.B) {
	pod := testkit.Containers("container a requests cpu=500m")
	b.ReportAllocs()
	for b.Loop() {
		if cpu, memory := NonZero(pod, release.Current); cpu != 500 || memory != plainpod.MemoryBytes {
			b.Fatal(cpu, memory)
		}
	}
}

func BenchmarkRequests(b *testing.B) {
	pod := testkit.Containers(testkit.Kata)
	b.ReportAllocs()
	for b.Loop() {
		if len(Requests(pod, Options{})) != 2 {
			b.Fatal("nothing computed")
		}
	}
}
