package thin

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

// Each search begins behind the nodes that the search before has seen.
func TestThinGoesRound(t *testing.T) {
	var nodes []*v1.Node
	for k := range 300 {
		nodes = append(nodes, node(fmt.Sprintf("n%03d", k), "4"))
	}
	now := time.Unix(1000, 0)
	w := newServer(t, cluster.Objects{Nodes: nodes}, func() time.Time { return now })
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes})
	require.NoError(t, err)
	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
	require.NoError(t, err)
	next, places := 0, map[string]bool{}
	for k := range 12 {
		pod := web(fmt.Sprint("web-", k), "1")
		d := placer.Decide(pod, placement.Options{Next: next})
		require.NoError(t, placer.Assume(pod, d))
		next, places[d.Node] = d.Next, true
		w.add(pod)
		require.Equal(t, 1, w.steps())
		require.Equal(t, d.Node, w.Pod("shop", pod.Name).Spec.NodeName)
	}
	require.Greater(t, len(places), 2)
}

// slow is a server whose bindings take ten seconds. It looks at the nominations meanwhile.
type slow struct {
	*server
	nominations []int
}

func (c *slow) Bind(ctx context.Context, pod *v1.Pod, d placement.Decision) error {
	time.Sleep(10 * time.Second) // of the test's own clock
	c.s.mu.Lock()
	c.nominations = append(c.nominations, c.s.queue.Nominations())
	c.s.mu.Unlock()
	return c.server.Bind(ctx, pod, d)
}

// Run waits for the bindings that it has begun. A pod that is assumed is no longer nominated: the nomination would hold room twice.
func TestThinWaitsForBindings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServer(t, cluster.Objects{Nodes: []*v1.Node{node("n1", "4"), node("n2", "1")}}, time.Now)
		c := &slow{server: w}
		w.s.client = c
		low, high := web("low", "3"), web("high", "3")
		high.Spec.Priority = new(int32)
		*high.Spec.Priority = 10
		low.Spec.NodeName = "n1"
		w.add(low)
		w.add(high)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.s.Run(ctx); close(done) }()
		time.Sleep(15 * time.Second) // the victim has left, the preemptor's backoff has ended and its binding has begun
		w.add(web("late", "1"))
		synctest.Wait()
		stop()
		<-done
		require.Equal(t, []string{"shop/low"}, w.victims)
		require.Equal(t, "n1", w.Pod("shop", "high").Spec.NodeName)
		require.NotEmpty(t, w.Pod("shop", "late").Spec.NodeName)
		require.Equal(t, []int{0, 0}, c.nominations)
	})
}

// Budgets decide who leaves, and a nominated pod keeps its room.
func TestThinPreempts(t *testing.T) {
	now := time.Unix(1000, 0)
	guarded, free := web("guarded", "4"), web("free", "4")
	guarded.Labels, guarded.Spec.NodeName, free.Spec.NodeName = map[string]string{"app": "guarded"}, "n1", "n2"
	free.Spec.Priority = new(int32)
	*free.Spec.Priority = 5
	w := newServer(t, cluster.Objects{Nodes: []*v1.Node{node("n1", "4"), node("n2", "4")}, Pods: []*v1.Pod{guarded, free}}, func() time.Time { return now })
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "b"}}
	budget.Spec.Selector, budget.Spec.MinAvailable = &metav1.LabelSelector{MatchLabels: guarded.Labels}, &intstr.IntOrString{IntVal: 1}
	require.NoError(t, w.s.See("PodDisruptionBudget", nil, budget))
	vip := web("vip", "4")
	vip.Spec.Priority = new(int32)
	*vip.Spec.Priority = 10
	w.add(vip)
	require.True(t, w.s.One(t.Context()))
	w.s.tasks.Wait()
	require.Equal(t, []string{"shop/free"}, w.victims, "the budget guards the pod of lower priority")
	require.Equal(t, "n2", w.Pod("shop", "vip").Status.NominatedNodeName)
	w.add(web("small", "1"))
	w.steps()
	require.Equal(t, "n2", w.Pod("shop", "vip").Spec.NodeName)
	require.Empty(t, w.Pod("shop", "small").Spec.NodeName, "the room is the nominated pod's")
}

// An attempt that ends with an error is reported with the error, and clears the nomination.
func TestThinErrors(t *testing.T) {
	now := time.Unix(1000, 0)
	w := newServer(t, cluster.Objects{Nodes: []*v1.Node{node("n1", "4")}}, func() time.Time { return now })
	bad := web("bad", "1")
	bad.Status.NominatedNodeName = "n1"
	bad.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Within"}}},
	}}
	w.add(bad)
	require.Equal(t, 1, w.steps())
	require.Contains(t, w.results[0].Message, `"Within" is not a valid label selector operator`)
	require.Empty(t, w.Pod("shop", "bad").Status.NominatedNodeName)
}
