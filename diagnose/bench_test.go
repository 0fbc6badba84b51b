package diagnose

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// large is a cluster of 5,000 nodes with 30,000 pods.
func large() (o cluster.Objects) {
	for i := range 5000 {
		n := testkit.Node(fmt.Sprintf("n%d", i)).Zone(fmt.Sprintf("z%d", i%5)).Capacity("cpu=32,memory=128Gi")
		if i%7 == 0 {
			n = n.Taint("team=x:NoSchedule")
		}
		if i%11 == 0 {
			n = n.Label("disk", "ssd")
		}
		o.Nodes = append(o.Nodes, n.Obj())
		for k := range 6 {
			o.Pods = append(o.Pods, testkit.Pod(fmt.Sprintf("p%d-%d", i, k)).On(o.Nodes[i].Name).Labels(fmt.Sprintf("app=a%d", (i+k*997)%500)).Request("cpu=5,memory=16Gi").Obj())
		}
	}
	return o
}

// One diagnosis of a pod at 5,000 nodes with 30,000 pods: of a pod with requests, of one with many rules, of one that claims more
// devices than a node has, and of one whose room is taken by pods with budgets.
func BenchmarkRelax5000(b *testing.B) {
	o := large()
	o.DeviceClasses = gpuClass()
	for i, n := range o.Nodes {
		gpus(&o, n.Name, 4)
		if i%2 == 0 {
			give(claim(&o, fmt.Sprintf("held-%d", i), 1, false), n.Name, 0, o.Pods[i*6])
		}
	}
	claim(&o, "pending", 5, true)
	for i := range 250 {
		o.PodDisruptionBudgets = append(o.PodDisruptionBudgets, budget(fmt.Sprintf("pdb-%d", i), fmt.Sprintf("a%d", i), 0))
	}
	pods := map[string]*v1.Pod{
		"request": testkit.Pod("web").Labels("app=a1").Request("cpu=4,memory=40Gi").Obj(),
		"rules": testkit.Pod("web").Labels("app=a1").Request("cpu=4,memory=40Gi").NodeSelector("disk=ssd").
			Spread(1, zone, v1.DoNotSchedule, "app=a1").Spread(1, v1.LabelHostname, v1.DoNotSchedule, "app=a1").RequireApart(zone, "app=a1").HostPort("", v1.ProtocolTCP, 80).Obj(),
		"devices": uses(testkit.Pod("web").Request("cpu=1,memory=1Gi").Obj(), "pending"),
		"budgets": testkit.Pod("web").Request("cpu=20,memory=40Gi").Obj(),
	}
	s, err := cluster.New(o)
	require.NoError(b, err)
	for _, name := range []string{"request", "rules", "devices", "budgets"} {
		b.Run(name, func(b *testing.B) {
			found := 0
			for b.Loop() {
				d, err := Relax(Input{Snapshot: s}, pods[name], Options{})
				require.NoError(b, err)
				require.NotEmpty(b, d.Relaxations)
				found = len(d.Relaxations)
			}
			b.ReportMetric(float64(found), "relaxations")
		})
	}
}

// BenchmarkCompare5000 compares the node of the decision with another node, among 5,000 nodes with 30,000 pods.
func BenchmarkCompare5000(b *testing.B) {
	s, err := cluster.New(large())
	require.NoError(b, err)
	pod := testkit.Pod("web").Labels("app=a1").Request("cpu=1,memory=1Gi").Obj()
	for b.Loop() {
		c, err := Compare(Input{Snapshot: s}, pod, "n4999")
		require.NoError(b, err)
		require.NotEmpty(b, c.Parts)
	}
}

// BenchmarkWake5000 asks when a pod gets a node if 100 of 30,000 pods on 5,000 nodes terminate, and none of these makes room.
func BenchmarkWake5000(b *testing.B) {
	o := large()
	for k := range 100 {
		gone := metav1.NewTime(testkit.Epoch.Add(time.Duration(k) * time.Second))
		o.Pods[k*60].DeletionTimestamp = &gone
	}
	s, err := cluster.New(o)
	require.NoError(b, err)
	pod := testkit.Pod("web").Request("cpu=9,memory=1Gi").Obj()
	for b.Loop() {
		out, err := Wake(Input{Snapshot: s}, pod, WakeOptions{})
		require.NoError(b, err)
		require.Len(b, out.Ends, 100)
	}
}

// The causes of four pods at 5,000 nodes with 30,000 pods: of requests, of anti-affinity, of a spread constraint, and of reserved nodes.
func BenchmarkCauseOf5000(b *testing.B) {
	s, err := cluster.New(large())
	require.NoError(b, err)
	plan, err := placement.New(s, placement.DefaultProfile())
	require.NoError(b, err)
	for name, pod := range map[string]*v1.Pod{
		"request":       testkit.Pod("web").Request("cpu=4,memory=40Gi").Obj(),
		"anti-affinity": testkit.Pod("web").Labels("app=a1").RequireApart(zone, "app=a1").Obj(),
		"spread":        testkit.Pod("web").Labels("app=a1").Request("cpu=3").Spread(1, zone, v1.DoNotSchedule, "app=a1").Obj(),
		"selector":      testkit.Pod("web").NodeSelector("disk=SSD").Obj(),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.NotNil(b, CauseOf(plan, s, pod))
			}
		})
	}
}
