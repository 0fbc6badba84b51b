package diagnose

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// The obstacles are what the table of all nodes says, counted.
func TestObstaclesOfTables(t *testing.T) {
	many := 0
	for seed := range uint64(400) {
		if holdObstacles(t, testkit.RandomBytes(seed, 80)) > 1 {
			many++
		}
	}
	require.Greater(t, many, 50, "pods with several obstacles")
}

func FuzzObstacles(f *testing.F) {
	for seed := range uint64(25) {
		f.Add(testkit.RandomBytes(seed, 80))
	}
	f.Fuzz(func(t *testing.T, data []byte) { holdObstacles(t, data) })
}

// holdObstacles compares with a table and returns the number of obstacles.
func holdObstacles(t *testing.T, data []byte) int {
	objects, pod := random(testkit.NewBytes(data))
	s, err := cluster.New(objects)
	require.NoError(t, err)
	plan, err := placement.New(s, placement.DefaultProfile())
	require.NoError(t, err)
	a := plan.Prepare(pod)
	var got []Obstacle
	testkit.Unchanged(t, func() { got = Obstacles(a, s) }, append(objects.Pods, pod)...)
	if a.Rejected() {
		require.Len(t, got, 1)
		require.Equal(t, len(s.Order()), got[0].Nodes)
		return 1
	}
	table, err := plan.Table(pod)
	require.NoError(t, err)
	type reason struct{ plugin, text string }
	nodes := map[reason][]string{}
	for _, i := range a.Candidates() {
		name := s.Node(i).Name
		row := table[slices.IndexFunc(table, func(n placement.NodeReport) bool { return n.Node == name })]
		for _, r := range row.Rejections {
			for _, text := range slices.Compact(slices.Sorted(slices.Values(r.Reasons))) {
				k := reason{r.Plugin, text}
				nodes[k] = append(nodes[k], name)
			}
		}
	}
	for k, o := range got {
		require.True(t, k == 0 || got[k-1].Nodes >= o.Nodes, "%v", got)
		if o.Plugin == "" {
			require.Equal(t, a.Pre.LeftOut(), []string{o.Reason})
			require.Equal(t, len(s.Order())-len(a.Candidates()), o.Nodes)
			continue
		}
		want := nodes[reason{o.Plugin, o.Reason}]
		require.Equal(t, len(want), o.Nodes, "%+v", o)
		require.Equal(t, want[:min(3, len(want))], o.Examples)
		delete(nodes, reason{o.Plugin, o.Reason})
	}
	require.Empty(t, nodes, "reasons without an obstacle")
	return len(got)
}

// A plugin that looks at no node is the obstacle of all of them, and plugins that name the only nodes are the obstacle of the others.
func TestObstaclesBeforeNodes(t *testing.T) {
	var o cluster.Objects
	for k := range 5 {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprintf("n%d", k)).Capacity("cpu=1").Obj())
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	pod := testkit.Pod("web").Request("cpu=2").Obj()
	of := func(filters ...*placement.Plugin) []Obstacle {
		plan, err := placement.New(s, placement.Profile{Filters: append(filters, placement.PluginArgs{}.Profile().Filters...)})
		require.NoError(t, err)
		return Obstacles(plan.Prepare(pod), s)
	}
	own := func(f placement.PreFiltered) *placement.Plugin {
		return &placement.Plugin{Name: "Own", Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered { return f }}
	}
	first := []string{"n0", "n1", "n2"}
	require.Equal(t, []Obstacle{{"NodeResourcesFit", "Insufficient cpu", 5, first}}, of())
	require.Equal(t, []Obstacle{{"Own", "no", 5, first}}, of(own(placement.PreFiltered{Code: filter.UnschedulableAndUnresolvable, Reasons: []string{"no"}})))
	require.Equal(t, []Obstacle{{"", `running PreFilter plugin "Own": oh`, 5, first}}, of(own(placement.PreFiltered{Code: filter.Error, Reasons: []string{"oh"}})))
	require.Equal(t, []Obstacle{
		{"", "node(s) didn't satisfy plugin(s) [Own]", 3, []string{"n0", "n2", "n4"}},
		{"NodeResourcesFit", "Insufficient cpu", 2, []string{"n1", "n3"}},
	}, of(own(placement.PreFiltered{Nodes: []string{"n3", "n1"}})))
	pod = testkit.Pod("web").Request("cpu=1").Obj()
	require.Empty(t, of())
	require.Empty(t, func() []Obstacle {
		s, err = cluster.New(cluster.Objects{})
		require.NoError(t, err)
		return of()
	}())
}

// BenchmarkObstacles5000 groups what keeps a pod off 5,000 nodes with 30,000 pods.
func BenchmarkObstacles5000(b *testing.B) {
	s, err := cluster.New(large())
	require.NoError(b, err)
	plan, err := placement.New(s, placement.DefaultProfile())
	require.NoError(b, err)
	for _, c := range []struct {
		name string
		pod  *v1.Pod
	}{
		{"request", testkit.Pod("web").Labels("app=a1").Request("cpu=4,memory=40Gi").Obj()},
		{"rules", testkit.Pod("web").Labels("app=a1").Request("cpu=4,memory=40Gi").NodeSelector("disk=ssd").
			Spread(1, zone, v1.DoNotSchedule, "app=a1").Spread(1, v1.LabelHostname, v1.DoNotSchedule, "app=a1").RequireApart(zone, "app=a1").HostPort("", v1.ProtocolTCP, 80).Obj()},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			best := time.Hour // other processes on the machine do not count
			for b.Loop() {
				begin := time.Now()
				if len(Obstacles(plan.Prepare(c.pod), s)) < 2 {
					b.Fatal("the pod has obstacles")
				}
				best = min(best, time.Since(begin))
			}
			b.ReportMetric(float64(best.Nanoseconds()), "best-ns/op")
		})
	}
}
