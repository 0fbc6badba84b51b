package packing_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/planning/packing"
)

// BenchmarkPack5000 plans for 100 pods of a whole node each in a cluster of 5,000 nodes, all of them partly used by four pods.
func BenchmarkPack5000(b *testing.B) {
	w := &world{}
	for i := range 5000 {
		w.nodes = append(w.nodes, node(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", i%3), "cpu=16,memory=64Gi"))
		for k := range 4 {
			w.pods = append(w.pods, testkit.Pod(fmt.Sprintf("r%d-%d", i, k)).Priority(int32(k)).
				Request(fmt.Sprintf("cpu=%dm,memory=%dMi", 1000+i%7*100, 2048+i%5*512)).On(fmt.Sprintf("n%d", i)).Obj())
		}
	}
	for k := range 100 {
		w.pending = append(w.pending, testkit.Pod(fmt.Sprintf("p%d", k)).Priority(0).Request("cpu=16,memory=32Gi").Obj())
	}
	in := w.input(b)
	in.Pending = append([]*v1.Pod{}, w.pending...)
	b.ReportAllocs()
	steps := 0
	for b.Loop() {
		p, err := packing.Pack(in, packing.Options{Steps: 2000})
		require.NoError(b, err)
		steps = p.Steps
	}
	b.ReportMetric(float64(steps), "steps")
}
