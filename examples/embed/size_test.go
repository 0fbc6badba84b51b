package embed_test

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/examples/embed"
)

// A second of a controller in a cluster of 5,000 nodes and 50,000 pods: 200 pods change, and a workload of ten replicas is reconciled.
func BenchmarkSecond(b *testing.B) {
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var nodes []*v1.Node
	var pods []*v1.Pod
	for i := range 5000 {
		nodes = append(nodes, node(fmt.Sprintf("n%04d", i), "16"))
		for k := range 10 {
			p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("p-%d-%d", i, k), Labels: map[string]string{"app": "web"}}, Spec: spec("1")}
			p.Spec.NodeName = nodes[i].Name
			pods = append(pods, p)
		}
	}
	before := memory()
	c, err := embed.New(func(string, embed.Condition) error { return nil })
	require.NoError(b, err)
	for _, n := range nodes {
		require.NoError(b, c.Set(n))
	}
	for _, p := range pods {
		require.NoError(b, c.Set(p))
	}
	c.SetWorkload(web(10, "2"))
	require.NoError(b, c.Reconcile())
	held := memory() - before
	next := 0
	b.ReportAllocs()
	began := processorTime(b)
	for b.Loop() {
		for range 200 {
			changed := *pods[next%len(pods)] // a watch brings a new object
			changed.Labels = map[string]string{"app": "web", "version": fmt.Sprint(next % 3)}
			require.NoError(b, c.Set(&changed))
			next++
		}
		require.NoError(b, c.Reconcile())
	}
	b.ReportMetric(float64(processorTime(b)-began)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(held)/1e6, "MB-held")
	runtime.KeepAlive(nodes)
}

// processorTime returns the nanoseconds that the process has used. Other programs do not make it longer.
func processorTime(b *testing.B) int64 {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return used.Utime.Nano() + used.Stime.Nano()
}
