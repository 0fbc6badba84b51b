package diagnose

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// BenchmarkAll5000 says why 30 pods of 12 kinds wait, at 5,000 nodes with 50,000 pods: pods of requests, selectors, anti-affinity across
// namespaces by zone, spread constraints, taints, host ports, claims and gates.
func BenchmarkAll5000(b *testing.B) {
	s, err := cluster.New(crowded())
	require.NoError(b, err)
	pending := twelveKinds()
	used := testkit.ProcessorTime(b)
	for b.Loop() {
		groups, err := All(Input{Snapshot: s, Pending: pending}, Options{Size: 3})
		require.NoError(b, err)
		require.Len(b, groups, 12)
	}
	b.ReportMetric((testkit.ProcessorTime(b)-used).Seconds()/float64(b.N), "cpu-s/op")
}

// BenchmarkAllMemory5000 is BenchmarkAll5000 with the collector at work all the time: it reports the largest heap above that of the snapshot, and
// fails beyond 100 MiB.
func BenchmarkAllMemory5000(b *testing.B) {
	s, err := cluster.New(crowded())
	require.NoError(b, err)
	pending := twelveKinds()
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		runtime.GC()
		before, most := heap(), uint64(0)
		asked := 0
		groups, err := All(Input{Snapshot: s, Pending: pending}, Options{Size: 3, Stop: func() bool {
			if asked++; asked%16 == 0 {
				most = max(most, heap())
			}
			return false
		}})
		require.NoError(b, err)
		require.Len(b, groups, 12)
		peak := max(most, heap()) - before
		require.Less(b, peak>>20, uint64(100))
		b.ReportMetric(float64(peak>>20), "peak-MiB")
	}
}

func BenchmarkAllEach(b *testing.B) {
	s, err := cluster.New(crowded())
	require.NoError(b, err)
	pending := twelveKinds()
	for k := range 12 {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			for b.Loop() {
				d, err := Relax(Input{Snapshot: s, Pending: pending}, pending[k], Options{Size: 3})
				require.NoError(b, err)
				b.Log(d.Cause.Text, d.Advice(), len(d.Changes), len(d.Relaxations), d.Cut)
			}
		})
	}
}

// crowded is a cluster of 5,000 nodes with 50,000 pods.
func crowded() (o cluster.Objects) {
	for i := range 5000 {
		n := testkit.Node(fmt.Sprintf("n%d", i)).Zone(fmt.Sprintf("z%d", i%3)).Label("pool", fmt.Sprintf("p%d", i%10)).Capacity("cpu=32,memory=128Gi,pods=110")
		if i%10 == 7 {
			n = n.Taint("team=x:NoSchedule")
		}
		if i%10 == 3 {
			n = n.Taint("team=y:NoSchedule").Label("disk", "ssd")
		}
		o.Nodes = append(o.Nodes, n.Obj())
		for k := range 10 {
			p := testkit.Pod(fmt.Sprintf("p%d-%d", i, k)).On(o.Nodes[i].Name).Labels(fmt.Sprintf("app=a%d", (i+k*997)%500)).Request("cpu=3,memory=12Gi").Owner("apps/v1", "ReplicaSet", fmt.Sprintf("a%d-1", (i+k*997)%500))
			if i%10 == 5 && k == 0 {
				p = p.HostPort("", v1.ProtocolTCP, 8080)
			}
			o.Pods = append(o.Pods, p.Obj())
		}
	}
	return o
}

// twelveKinds are 30 pods of 12 owners that wait.
func twelveKinds() (out []*v1.Pod) {
	kinds := []func(b testkit.PodBuilder) testkit.PodBuilder{
		func(b testkit.PodBuilder) testkit.PodBuilder { return b.Request("cpu=4,memory=16Gi") },
		func(b testkit.PodBuilder) testkit.PodBuilder { return b.Request("cpu=40") },
		func(b testkit.PodBuilder) testkit.PodBuilder { return b.NodeSelector("pool=P4").Request("cpu=1") },
		func(b testkit.PodBuilder) testkit.PodBuilder {
			return b.Labels("app=a1").RequireApart(zone, "app=a1").Request("cpu=1")
		},
		func(b testkit.PodBuilder) testkit.PodBuilder {
			return b.Labels("app=a2").RequireApart(v1.LabelHostname, "").NodeSelector("pool=p1").Request("cpu=1")
		},
		func(b testkit.PodBuilder) testkit.PodBuilder {
			b = b.Labels("app=a3").RequireApart(zone, "app=a3").Request("cpu=500m")
			b.Obj().Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].Namespaces = []string{"default", "other", "third"}
			return b
		},
		func(b testkit.PodBuilder) testkit.PodBuilder { return b.NodeSelector("pool=p3").Request("cpu=1") },
		func(b testkit.PodBuilder) testkit.PodBuilder {
			return b.NodeSelector("pool=p7").Tolerate("team", v1.TolerationOpEqual, "X", v1.TaintEffectNoSchedule).Request("cpu=1")
		},
		func(b testkit.PodBuilder) testkit.PodBuilder {
			return b.NodeSelector("pool=p5").HostPort("", v1.ProtocolTCP, 8080).Request("cpu=1")
		},
		func(b testkit.PodBuilder) testkit.PodBuilder {
			return b.Labels("app=b1").NodeSelector("pool=p6").Spread(1, v1.LabelHostname, v1.DoNotSchedule, "app=b1").Request("cpu=3,memory=12Gi")
		},
		func(b testkit.PodBuilder) testkit.PodBuilder {
			return b.RequireWith(zone, "app=nobody").Request("cpu=1")
		},
		func(b testkit.PodBuilder) testkit.PodBuilder { return b.Request("example.com/gpu=1") },
	}
	for k := range 30 {
		name := fmt.Sprintf("w%d", k%12)
		out = append(out, kinds[k%12](testkit.Pod(fmt.Sprintf("%s-%d", name, k)).Owner("apps/v1", "StatefulSet", name)).Obj())
	}
	return out
}

// Pods of one owner with one specification are one group, in the order of the pods; pods that get a node are in none.
func TestAll(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=4").Obj()}})
	require.NoError(t, err)
	set := func(name, owner, cpu string) *v1.Pod {
		return testkit.Pod(name).Labels("statefulset.kubernetes.io/pod-name="+name).Owner("apps/v1", "StatefulSet", owner).Request("cpu=" + cpu).Obj()
	}
	running := testkit.Pod("old").On("n").Obj()
	pending := []*v1.Pod{set("a-0", "a", "3"), nil, set("a-1", "a", "3"), testkit.Pod("x").Request("cpu=9").Obj(), set("b-0", "b", "3"), set("a-2", "a", "3"), testkit.Pod("y").Request("cpu=9").Obj(), set("a-3", "a", "5"), running}
	groups, err := All(Input{Snapshot: s, Pending: pending}, Options{})
	require.NoError(t, err)
	var have [][]string
	for _, g := range groups {
		have = append(have, g.Pods)
		require.Equal(t, g.Pods[0], g.Pod)
		require.NotNil(t, g.Cause)
	}
	require.Equal(t, [][]string{{"default/a-1", "default/a-2"}, {"default/x", "default/y"}, {"default/b-0"}, {"default/a-3"}}, have)
	require.Equal(t, "StatefulSet default/a: spec.replicas 1: default/a-1, default/a-2 and default/a-3 go away", groups[0].Remedies[0].Text)
	require.Equal(t, 2, groups[2].Remedies[0].Changes[0].Count, "a-1 is tried before, and takes the first node")
	none, err := All(Input{Snapshot: s}, Options{})
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = All(Input{}, Options{})
	require.ErrorIs(t, err, cluster.ErrNoSnapshot)
}

// A stop ends the search for remedies and leaves the causes.
func TestAllStops(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=4").Obj()}})
	require.NoError(t, err)
	groups, err := All(Input{Snapshot: s, Pending: []*v1.Pod{testkit.Pod("x").Request("cpu=9").Obj()}}, Options{Stop: func() bool { return true }})
	require.NoError(t, err)
	require.NotNil(t, groups[0].Cause)
	require.Empty(t, groups[0].Remedies)
	require.Equal(t, "stop", groups[0].Cut)
}
