package failures

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

var podsPerNode = flag.Int("pods", 6, "running pods per node in BenchmarkNode5000; 30 makes 150,000")

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
