package lint

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
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
