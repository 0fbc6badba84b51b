package failures

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

var podsPerNode = flag.Int("pods", 6, "running pods per node in BenchmarkNode5000 and BenchmarkAll5000; 30 makes 150,000")

// large is a cluster of nodes in five zones, each half full of pods of many apps: a third plain, a third spread over zones, a
// third apart by hostname.
func large(nodes, perNode int) *world {
	w := &world{}
	for i := range nodes {
		w.objects.Nodes = append(w.objects.Nodes, testkit.Node(fmt.Sprintf("n%d", i)).Zone(fmt.Sprintf("z%d", i%5)).Capacity("cpu=32,memory=128Gi").Obj())
	}
	apps := max(1, nodes*perNode/60) // 60 pods each
	changes := []func(string) func(*v1.PodSpec){
		func(string) func(*v1.PodSpec) { return nil },
		func(app string) func(*v1.PodSpec) { return spreadOver(app, zoneKey, nil) },
		func(app string) func(*v1.PodSpec) { return apart(app, v1.LabelHostname) },
	}
	sets := make([]*appsv1.ReplicaSet, apps)
	count := make([]int32, apps)
	for a := range sets {
		name := fmt.Sprintf("app%d", a)
		sets[a] = w.app(name, fmt.Sprintf("cpu=%dm,memory=%dMi", 200+a%7*50, 512+a%5*256), "", changes[a%3](name))
	}
	for i := range nodes {
		for k := range perNode {
			a := (i + k*997) % apps
			w.pod("ReplicaSet", sets[a].Name, fmt.Sprintf("%s-%d", sets[a].Name, count[a]), w.objects.Nodes[i].Name, sets[a].Spec.Template)
			count[a]++
		}
	}
	for a := range sets {
		sets[a].Spec.Replicas = &count[a]
	}
	return w
}

// One failed node of 5,000. With -args -pods 30 the cluster has 150,000 pods and a node 30.
func BenchmarkNode5000(b *testing.B) {
	p, err := planner(large(5000, *podsPerNode))
	require.NoError(b, err)
	all := p.Nodes()
	b.ReportAllocs()
	i, pods := 0, 0
	for b.Loop() {
		r, err := p.Run(all[i%len(all):i%len(all)+1], Options{})
		require.NoError(b, err)
		pods += len(r[0].Pods)
		i += 37
	}
	b.ReportMetric(float64(pods)/b.Elapsed().Seconds(), "pods/s")
}

// The failure of each of 5,000 nodes, two at a time. With -args -pods 30 the cluster has 150,000 pods.
func BenchmarkAll5000(b *testing.B) {
	p, err := planner(large(5000, *podsPerNode))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, err := p.Run(p.Nodes(), Options{Parallel: inTwo})
		require.NoError(b, err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB")
}

// The failure of 500 of 5,000 nodes, by one goroutine and by two. What differs between the processor times is what two goroutines pay.
func BenchmarkWorkers5000(b *testing.B) {
	p, err := planner(large(5000, *podsPerNode))
	require.NoError(b, err)
	for _, c := range []struct {
		name     string
		parallel func(n int, run func(i int))
	}{{"one", nil}, {"two", inTwo}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			before := testkit.ProcessorTime(b)
			for b.Loop() {
				_, err := p.Run(p.Nodes()[:500], Options{Parallel: c.parallel})
				require.NoError(b, err)
			}
			b.ReportMetric(float64(testkit.ProcessorTime(b)-before)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}

// inTwo is a parallel-for of two goroutines.
func inTwo(n int, run func(i int)) {
	var group sync.WaitGroup
	var next atomic.Int64
	for range 2 {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				run(i)
			}
		})
	}
	group.Wait()
}

// The headroom of 5,000 nodes: every node is played, and every one of them may fail.
func BenchmarkHeadroom5000(b *testing.B) {
	p, err := planner(large(5000, 1))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		h, err := p.Headroom(Search{Limit: 10, Parallel: inTwo})
		require.NoError(b, err)
		require.GreaterOrEqual(b, h.Survives, 1)
	}
}
