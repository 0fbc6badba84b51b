package lint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/taints"
)

// A drowned preference: the largest weight does not bring a replica to a preferred node, and without the taint the least does.
func TestDrowned(t *testing.T) {
	for _, c := range []struct {
		weight  int32
		tainted []int
		want    bool
	}{{100, []int{0, 1}, false}, {1, nil, true}} {
		w := newWorld()
		w.prefer(c.weight, zone, v1.NodeSelectorOpIn, "a")
		w.taint("old:PreferNoSchedule", c.tainted...)
		s, err := cluster.New(*w.objs)
		require.NoError(t, err)
		plan, err := placement.New(s, placement.DefaultProfile())
		require.NoError(t, err)
		node := plan.Decide(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: *w.pod}, placement.Options{}).Node
		require.Equal(t, c.want, node == "n1" || node == "n2", node)
		require.Equal(t, !c.want, len(of(t, w, "preference-drowned")) > 0)
	}
}

// Only taints PreferNoSchedule that the pod does not tolerate count.
func TestSoft(t *testing.T) {
	n := &v1.Node{Spec: v1.NodeSpec{Taints: testkit.Taints("a:PreferNoSchedule", "b:PreferNoSchedule", "c:PreferNoSchedule", "d:NoSchedule")}}
	require.EqualValues(t, 3, soft(&v1.Pod{}, n, taints.Options{}))
	tolerates := func(keys ...string) *v1.Pod {
		p := &v1.Pod{}
		for _, k := range keys {
			p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: k, Operator: v1.TolerationOpExists})
		}
		return p
	}
	require.EqualValues(t, 2, soft(tolerates("b", "other"), n, taints.Options{}))
	require.EqualValues(t, 1, soft(tolerates("c", "d", "a"), n, taints.Options{}))
	require.Zero(t, soft(tolerates("a", "b", "c"), n, taints.Options{}))
}

// The points of a drowned preference come from the fewest taints of the nodes that the preference matches, while a node that it does not
// match has none.
func TestDrownedPoints(t *testing.T) {
	drowned := 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 5))
		w := newWorld()
		var matching, others []int64
		for _, n := range w.objs.Nodes {
			n.Labels[zone] = []string{"a", "b"}[r.IntN(2)]
			count := r.IntN(4)
			for k := range count {
				n.Spec.Taints = append(n.Spec.Taints, testkit.Taints(fmt.Sprintf("t%d:PreferNoSchedule", k))...)
			}
			switch closed := r.IntN(6) == 0; {
			case closed:
				n.Spec.Taints = append(n.Spec.Taints, testkit.Taints("gpu:NoSchedule")...)
			case n.Labels[zone] == "a":
				matching = append(matching, int64(count))
			default:
				others = append(others, int64(count))
			}
		}
		lead, most := int64(0), int64(0)
		if len(matching) > 0 && slices.Min(matching) > 0 && slices.Contains(others, 0) {
			lead, most = 3*(100*slices.Min(matching)/slices.Max(append(others, matching...))), 200
			drowned++
		}
		c := checkerOf(t, w)
		gotLead, gotMost := c.drowned(c.works[0], term(zone, v1.NodeSelectorOpIn, "a"))
		require.Equal(t, [2]int64{lead, most}, [2]int64{gotLead, gotMost}, "nodes that match have %v taints, others %v", matching, others)
	}
	require.Greater(t, drowned, 50)
	c := checkerOf(t, newWorld())
	lead, most := c.drowned(c.works[0], term(zone, "Near"))
	require.Zero(t, lead+most, "no node is known to match a term that cannot be read")
}
