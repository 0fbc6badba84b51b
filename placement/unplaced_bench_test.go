package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// BenchmarkUnplaced decides pods of 50 kinds that no node takes, because all are cordoned. There are so many of them that each comes from memory. Read is what
// such a decision must read at least.
func BenchmarkUnplaced(b *testing.B) {
	var o cluster.Objects
	for i := range 800 {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprintf("node-%d", i)).Zone(fmt.Sprintf("zone-%d", i%3)).Capacity("cpu=32,memory=64Gi,nvidia.com/gpu=8,example.com/rdma=100,ephemeral-storage=700Gi").Obj())
		o.Nodes[i].Spec.Unschedulable = true
	}
	s, err := cluster.New(o)
	require.NoError(b, err)
	p, err := New(s, benchProfile())
	require.NoError(b, err)
	const n = 60_000
	pods := make([]*v1.Pod, n)
	prio := int32(1000)
	for i := range pods {
		app := fmt.Sprintf("app-%d", i%50)
		x := testkit.Pod(fmt.Sprintf("trace/instance-%d", i)).Labels("app=" + app).Obj()
		x.Annotations = map[string]string{"max-per-node": "8"}
		x.Spec.Priority = &prio
		x.Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=12,memory=122880Mi,example.com/rdma=25,ephemeral-storage=655360Mi,nvidia.com/gpu=1")
		x.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
		pods[i] = x
	}
	b.Run("decide", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			if p.Decide(pods[i%n], Options{}).Placed() {
				b.Fatal("placed")
			}
			i++
		}
	})
	b.Run("read", func(b *testing.B) {
		i, sum := 0, 0
		for b.Loop() {
			x := pods[i%n]
			for k, v := range x.Labels {
				sum += len(k) + len(v)
			}
			for k := range x.Spec.Containers {
				for name, q := range x.Spec.Containers[k].Resources.Requests {
					a, _ := q.AsInt64()
					sum += len(name) + int(a)
				}
			}
			for k := range x.Spec.TopologySpreadConstraints {
				for key, v := range x.Spec.TopologySpreadConstraints[k].LabelSelector.MatchLabels {
					sum += len(key) + len(v)
				}
			}
			i++
		}
		b.ReportMetric(float64(sum&1), "parity") // so that the compiler keeps the sum
	})
}
