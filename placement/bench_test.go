package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// kinds are the constraints of an application's replicas in the benchmarks.
var kinds = []struct {
	name string
	add  func(b testkit.PodBuilder, app string) testkit.PodBuilder
}{
	{"plain", func(b testkit.PodBuilder, _ string) testkit.PodBuilder { return b }},
	{"hard-zone-spread", func(b testkit.PodBuilder, app string) testkit.PodBuilder {
		return b.Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app="+app)
	}},
	{"soft-spread", func(b testkit.PodBuilder, app string) testkit.PodBuilder {
		return b.Spread(1, v1.LabelTopologyZone, v1.ScheduleAnyway, "app="+app).Spread(1, v1.LabelHostname, v1.ScheduleAnyway, "app="+app)
	}},
	{"hostname-anti-affinity", func(b testkit.PodBuilder, app string) testkit.PodBuilder {
		return b.RequireApart(v1.LabelHostname, "app="+app)
	}},
	{"required-zone-affinity", func(b testkit.PodBuilder, app string) testkit.PodBuilder {
		return b.RequireWith(v1.LabelTopologyZone, "app="+app)
	}},
	{"preferred-affinity", func(b testkit.PodBuilder, app string) testkit.PodBuilder {
		return b.PreferWith(100, v1.LabelTopologyZone, "app="+app)
	}},
}

func replica(kind, app, n int) *v1.Pod {
	b, name := bareReplica(app, n)
	return kinds[kind].add(b, name).Obj()
}

// bareReplica is a replica without constraints, and the name of its application.
func bareReplica(app, n int) (testkit.PodBuilder, string) {
	name := fmt.Sprintf("app-%d", app)
	return testkit.Pod(fmt.Sprintf("default/%s-%d", name, n)).Labels("app=" + name).Request("cpu=100m,memory=200Mi"), name
}

func benchCluster(b testing.TB, kind, nodes, apps int) *cluster.Snapshot {
	return runningReplicas(b, nodes, 2, func(i int) *v1.Pod { return replica(kind, i%apps, i) })
}

// runningReplicas is a cluster in which every node runs perNode of the pods.
func runningReplicas(b testing.TB, nodes, perNode int, pod func(int) *v1.Pod) *cluster.Snapshot {
	var o cluster.Objects
	for i := range nodes {
		n := testkit.Node(fmt.Sprintf("node-%d", i)).Zone(fmt.Sprintf("zone-%d", i%3)).Label("row", fmt.Sprint(i%10)).Label("rack", fmt.Sprint(i%100))
		o.Nodes = append(o.Nodes, n.Capacity("cpu=32,memory=64Gi").Obj())
	}
	for i := range perNode * nodes {
		p := pod(i)
		p.Spec.NodeName = o.Nodes[i%nodes].Name
		o.Pods = append(o.Pods, p)
	}
	s, err := cluster.New(o)
	require.NoError(b, err)
	return s
}

// BenchmarkDecide measures whole decisions with the update of the snapshot, for the replicas of 20 applications in
// turn.
func BenchmarkDecide(b *testing.B) {
	for _, nodes := range []int{5_000, 50_000} {
		for kind := range kinds {
			b.Run(fmt.Sprintf("%s/%d", kinds[kind].name, nodes), func(b *testing.B) {
				const apps = 20
				decideInTurn(b, benchCluster(b, kind, nodes, apps), apps, Options{}, func(i int) *v1.Pod { return replica(kind, i%apps, i) })
			})
		}
	}
}

// BenchmarkGrowth is a decision among 5,000 nodes while one thing grows: the applications whose replicas come in turn, the
// running pods, the constraints of a pod. It grows from 20 applications, 10,000 pods and one constraint, to spread over zones;
// more constraints are for hostnames, racks and rows.
func BenchmarkGrowth(b *testing.B) {
	keys := []string{v1.LabelTopologyZone, v1.LabelHostname, "rack", "row"}
	grow := func(name string, apps, perNode, constraints int) {
		b.Run(name, func(b *testing.B) {
			pod := func(i int) *v1.Pod {
				p, app := bareReplica(i%apps, i)
				for _, key := range keys[:constraints] {
					p = p.Spread(5, key, v1.ScheduleAnyway, "app="+app)
				}
				return p.Obj()
			}
			decideInTurn(b, runningReplicas(b, 5_000, perNode, pod), apps, Options{}, pod)
		})
	}
	for _, apps := range []int{1, 20, 160, 1000} {
		grow(fmt.Sprintf("applications-%d", apps), apps, 2, 1)
	}
	for _, perNode := range []int{10, 30} {
		grow(fmt.Sprintf("running-%d", 5_000*perNode), 20, perNode, 1)
	}
	for _, constraints := range []int{0, 2, 3, 4} {
		grow(fmt.Sprintf("constraints-%d", constraints), 20, 2, constraints)
	}
}

// decideInTurn decides and assumes pods of known shapes. After 4,000 pods it starts again with the original cluster.
func decideInTurn(b *testing.B, s *cluster.Snapshot, apps int, o Options, pod func(int) *v1.Pod) {
	p, err := New(s, benchProfile())
	require.NoError(b, err)
	var pods []*v1.Pod
	for i := range max(4000, 3*apps) {
		pods = append(pods, pod(1_000_000+i))
	}
	m := s.Mark()
	for i := range 3 * apps { // the shapes
		d := p.Decide(pods[i], o)
		require.True(b, d.Placed(), "%s", text(d))
	}
	s.Rollback(m)
	b.ReportAllocs()
	b.ResetTimer()
	n := 0
	m = s.Mark()
	for b.Loop() {
		if n == len(pods) {
			b.StopTimer()
			s.Rollback(m)
			m, n = s.Mark(), 0
			for i := range apps {
				p.Decide(pods[i], o)
			}
			b.StartTimer()
		}
		d := p.Decide(pods[n], o)
		if !d.Placed() {
			b.Fatal(text(d))
		}
		if err := s.Assume(pods[n], d.Slot); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

func benchProfile() Profile {
	p := DefaultProfile()
	p.Sampling = AllNodes()
	return p
}

// BenchmarkVerdicts measures every filter of the default profile on every node, for one plain pod.
func BenchmarkVerdicts(b *testing.B) {
	for _, nodes := range []int{5_000, 50_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			s := benchCluster(b, 0, nodes, 20)
			p, err := New(s, benchProfile())
			require.NoError(b, err)
			a := p.Prepare(replica(0, 1, 1_000_000))
			verdicts := a.Verdicts(nil, Options{})
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				verdicts = a.Verdicts(verdicts[:0], Options{})
			}
			if len(verdicts) != nodes || verdicts[0].Verdict != 0 {
				b.Fatal("every node takes the pod")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
		})
	}
}

// BenchmarkDistinct decides pods that all differ in request, label and constraint. The running pods differ in the same way. Alike
// are nodes of one size with two pods each, mixed nodes of five sizes that are used by 30 to 70 %.
func BenchmarkDistinct(b *testing.B) {
	for _, nodes := range []int{5_000, 50_000} {
		for _, mixed := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/%d", map[bool]string{false: "alike", true: "mixed"}[mixed], nodes), func(b *testing.B) { decideDistinct(b, nodes, mixed) })
		}
	}
}

func decideDistinct(b *testing.B, nodes int, mixed bool) {
	r := rand.New(rand.NewPCG(1, 1))
	distinct := func(i int, name string) *v1.Pod {
		app := fmt.Sprintf("app-%d", i%20)
		p := kinds[1+i%5].add(testkit.Pod(fmt.Sprintf("default/%s-%d", name, i)).Labels(fmt.Sprintf("app=%s,pod=%s-%d", app, name, i)), app).Obj()
		p.Spec.Containers[0].Resources.Requests = testkit.Resources(fmt.Sprintf("cpu=100m,memory=%d", 200<<20+i))
		return p
	}
	var o cluster.Objects
	for i := range nodes {
		n := testkit.Node(fmt.Sprintf("node-%d", i)).Zone(fmt.Sprintf("zone-%d", i%3))
		size := 32
		if mixed {
			size = 16 << (i % 5)
		}
		o.Nodes = append(o.Nodes, n.Capacity(fmt.Sprintf("cpu=%d,memory=%dGi", size, 2*size)).Obj())
		for k := range 2 {
			p := distinct(2*i+k, "run")
			p.Spec.NodeName = o.Nodes[i].Name
			if mixed {
				p.Spec.Containers[0].Resources.Requests = testkit.Resources(fmt.Sprintf("cpu=%dm,memory=%dMi", size*(150+r.IntN(200)), size*(300+r.IntN(400))))
			}
			o.Pods = append(o.Pods, p)
		}
	}
	s, err := cluster.New(o)
	require.NoError(b, err)
	p, err := New(s, benchProfile())
	require.NoError(b, err)
	var pods []*v1.Pod
	for i := range 20_000 {
		pods = append(pods, distinct(i, "new"))
		if mixed {
			pods[i].Spec.Containers[0].Resources.Requests = testkit.Resources(fmt.Sprintf("cpu=%dm,memory=%dMi", 50+r.IntN(2000), 50+r.IntN(4000)))
		}
	}
	for _, pod := range pods[:100] {
		require.NoError(b, s.Assume(pod, p.Decide(pod, Options{}).Slot))
	}
	n := 100
	b.ResetTimer()
	for b.Loop() {
		d := p.Decide(pods[n], Options{})
		if err := s.Assume(pods[n], d.Slot); err != nil {
			b.Fatal(err)
		}
		if n++; n == len(pods) {
			b.Fatal("more pods are needed for a run this long")
		}
	}
}
