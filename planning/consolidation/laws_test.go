package consolidation

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

// lawful replays a plan in another snapshot, a wave at a time: every pod of a removed node moves once or is tied to the node, every
// new pod is accepted by the filters where the plan places it, also when all pods of its wave were evicted before, no node is
// removed before it is empty, and no running pod has a rule that it did not break before.
func lawful(t testing.TB, w *world, plan *Plan) {
	t.Helper()
	s, err := cluster.New(w.objects)
	require.NoError(t, err)
	profile := placement.DefaultProfile()
	profile.Sampling = placement.AllNodes()
	placer, err := placement.NewPlacer(s, profile)
	require.NoError(t, err)
	broken := map[string]bool{}
	for _, v := range placer.Violations() {
		broken[v.Pod] = true
	}
	added := int64(0)
	for _, a := range plan.Added {
		require.NoError(t, s.Set(a.Node))
		added += a.Price
	}
	keeps := func() {
		t.Helper()
		for _, v := range placer.Violations() {
			require.True(t, broken[v.Pod], "%s on %s: %v", v.Pod, v.Node, v.Rejections)
		}
	}
	going := map[string]bool{}
	saved := int64(0)
	for _, n := range plan.Nodes {
		require.False(t, going[n.Node], "%s is removed twice", n.Node)
		going[n.Node] = true
		saved += n.Price
	}
	require.Equal(t, plan.Before-saved+added, plan.After)
	require.LessOrEqual(t, plan.Bound, plan.After)
	remove := func(wave int) {
		for _, n := range plan.Nodes {
			if n.Wave != wave {
				continue
			}
			slot := s.Slot(n.Node)
			for pod := range s.Pods(slot) {
				require.True(t, tied(pod), "%s is on %s when it is removed", pod.Name, n.Node)
				defer func() { require.NoError(t, s.Remove(pod)) }()
			}
			defer func() { require.NoError(t, s.Remove(s.Node(slot))) }()
		}
	}
	remove(-1)
	seen := map[*v1.Pod]bool{}
	for k, wave := range plan.Waves {
		for _, m := range wave {
			require.False(t, seen[m.Pod], "%s moves twice", m.Pod.Name)
			seen[m.Pod] = true
			require.True(t, going[m.From], "%s leaves %s, which stays", m.Pod.Name, m.From)
			require.False(t, going[m.To], "%s goes to %s, which is removed", m.Pod.Name, m.To)
			require.NoError(t, s.Remove(m.Pod))
		}
		for _, m := range wave {
			slot := s.Slot(m.To)
			require.GreaterOrEqual(t, slot, 0, "%s is removed before %s comes", m.To, m.Pod.Name)
			require.Zero(t, placer.Prepare(m.New).Verdicts(nil, placement.Options{})[slot].Verdict, "%s on %s", m.Pod.Name, m.To)
			require.NoError(t, s.Assume(m.New, slot))
		}
		keeps()
		remove(k)
		keeps()
	}
	for _, p := range w.objects.Pods {
		if going[p.Spec.NodeName] && !tied(p) && !cluster.Finished(p) {
			require.True(t, seen[p], "%s does not leave %s", p.Name, p.Spec.NodeName)
		}
	}
}

// slots is a cluster of which only nodes are asked for.
type slots struct {
	placement.Cluster
	nodes []*v1.Node
}

func (s slots) Node(i int) *v1.Node { return s.nodes[i] }

// The filter that keeps pods off the nodes of a plan rejects a free slot and a marked node, and says why.
func TestLeaving(t *testing.T) {
	marked := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "marked", Annotations: map[string]string{emptied: ""}}}
	l := leaving{slots{nodes: []*v1.Node{nil, marked, {}}}}
	for i, rejected := range []bool{true, true, false} {
		require.Equal(t, rejected, l.Check(i) != 0, "slot %d", i)
		require.Equal(t, rejected, len(l.Reasons(l.Check(i))) == 1, "slot %d", i)
	}
}
