package packing_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/planning/packing"
	"github.com/podberth/podberth/podgroup"
)

// world is a cluster and a queue.
type world struct {
	nodes   []*v1.Node
	pods    []*v1.Pod
	budgets []*policyv1.PodDisruptionBudget
	pending []*v1.Pod
	groups  []*podgroup.Group
}

func (w *world) input(t testing.TB) packing.Input {
	s, err := cluster.New(cluster.Objects{Nodes: w.nodes, Pods: w.pods, PodDisruptionBudgets: w.budgets, PodGroups: w.groups})
	require.NoError(t, err)
	return packing.Input{Snapshot: s, Pending: w.pending, Now: testkit.Epoch}
}

func (w *world) pack(t testing.TB, o packing.Options) packing.Plan {
	p, err := packing.Pack(w.input(t), o)
	require.NoError(t, err)
	return p
}

func node(name, zone, capacity string) *v1.Node {
	return testkit.Node(name).Zone(zone).Capacity(capacity + ",pods=110").Obj()
}

func budget(app string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

// chance makes a small crowded cluster. constrained clusters have affinity, spread and ports.
func chance(b *testkit.Bytes, most int, constrained bool) *world {
	w := &world{}
	nodes := 1 + b.Below(3)
	for i := range nodes {
		w.nodes = append(w.nodes, node(fmt.Sprintf("n%d", i), testkit.Pick(b, "a", "b"), fmt.Sprintf("cpu=%d,memory=%dGi", 2+b.Below(3), 2+b.Below(3))))
	}
	used := map[string][2]int{} // cpu and memory by node
	for k := range 2 + b.Below(most-1) {
		cpu, memory := 500*(1+b.Below(4)), 512*(1+b.Below(4))
		p := testkit.Pod(fmt.Sprintf("p%d", k)).Priority(int32(10 * b.Below(3))).Labels("app=" + testkit.Pick(b, "x", "y")).
			Request(fmt.Sprintf("cpu=%dm,memory=%dMi", cpu, memory))
		if constrained {
			switch b.Below(6) {
			case 0:
				p = p.RequireApart(testkit.Pick(b, v1.LabelHostname, v1.LabelTopologyZone), "app="+testkit.Pick(b, "x", "y"))
			case 1:
				p = p.RequireWith(v1.LabelTopologyZone, "app="+testkit.Pick(b, "x", "y"))
			case 2:
				p = p.Spread(1, testkit.Pick(b, v1.LabelHostname, v1.LabelTopologyZone), v1.DoNotSchedule, "app=x")
			case 3:
				p = p.HostPort("", v1.ProtocolTCP, 80)
			}
		}
		on := fmt.Sprintf("n%d", b.Below(nodes))
		room := used[on]
		n := w.nodes[on[1]-'0'].Status.Allocatable
		if b.Below(2) == 0 || room[0]+cpu > int(n.Cpu().MilliValue()) || room[1]+memory > int(n.Memory().Value()>>20) {
			w.pending = append(w.pending, p.Obj())
			continue
		}
		used[on] = [2]int{room[0] + cpu, room[1] + memory}
		w.pods = append(w.pods, p.On(on).Obj())
	}
	for _, app := range []string{"x", "y"} {
		if b.Below(3) == 0 {
			w.budgets = append(w.budgets, budget(app, int32(b.Below(3))))
		}
	}
	return w
}
