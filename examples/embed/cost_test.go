package embed_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/examples/embed"
)

// An event and the Reconcile after it cost the same beside 1,000 pods and beside 50,000. A plan that is made again, and a list of the pods,
// would allocate for each pod.
func TestEventCostsTheSameBesideMorePods(t *testing.T) {
	if testing.Short() {
		t.Skip("50,000 pods")
	}
	few, many := allocations(t, 1_000), allocations(t, 50_000)
	t.Logf("allocations of an event: %.0f beside 1,000 pods, %.0f beside 50,000", few, many)
	require.InDelta(t, few, many, 0.1*few)
}

// allocations returns how often an event allocates: a pod gets another label, and a workload of ten replicas is reconciled. There are
// 1,000 nodes.
func allocations(t *testing.T, pods int) float64 {
	const nodes = 1000
	c, err := embed.New(func(string, embed.Condition) error { return nil })
	require.NoError(t, err)
	for i := range nodes {
		require.NoError(t, c.Set(node(fmt.Sprintf("n%03d", i), "64")))
	}
	var changes []*v1.Pod
	for k := range pods {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("p-%d", k), Labels: map[string]string{"app": "web"}}, Spec: spec("1")}
		p.Spec.NodeName = fmt.Sprintf("n%03d", k%nodes)
		require.NoError(t, c.Set(p))
		if k < 2 {
			changes = append(changes, p, p.DeepCopy())
			changes[len(changes)-1].Labels["version"] = "2"
		}
	}
	c.SetWorkload(web(10, "2"))
	require.NoError(t, c.Reconcile())
	next := 0
	return testing.AllocsPerRun(20, func() {
		next++
		if err := c.Set(changes[next%len(changes)]); err != nil {
			panic(err)
		}
		if err := c.Reconcile(); err != nil {
			panic(err)
		}
	})
}
