package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A node gets another object, which is rolled back before the next decision. The cluster then numbers its classes of nodes in another
// way, and kept work must not read the old numbers.
func TestRolledBackUnseen(t *testing.T) {
	tainted := testkit.Node("n0").Capacity("cpu=1,pods=9").Taint("k=v:NoSchedule").Obj()
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{tainted, testkit.Node("n1").Capacity("cpu=1,pods=9").Obj(), testkit.Node("n2").Capacity("cpu=1,pods=9").Taint("x=y:PreferNoSchedule").Obj()}})
	require.NoError(t, err)
	kept, err := New(s, DefaultProfile())
	require.NoError(t, err)
	plain, err := New(s, DefaultProfile())
	require.NoError(t, err)
	plain.engine = nil
	for _, name := range []string{"a", "b", "c"} {
		pod := testkit.Pod(name).Labels("app=" + name).Obj()
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
			{TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "nobody"}}}}}}
		require.Equal(t, text(plain.Decide(pod, Options{})), text(kept.Decide(pod, Options{})))
		m := s.Mark()
		clean := tainted.DeepCopy()
		clean.Spec.Taints = nil
		require.NoError(t, s.Set(clean))
		require.True(t, s.Rollback(m))
	}
}
