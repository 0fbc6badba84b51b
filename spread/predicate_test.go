package spread_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/spread"
)

var (
	_ filter.Predicate = spread.HardState(nil)
	_ queue.Hint       = spread.Hint(spread.Options{})
)

// A free slot is rejected, with and without constraints, and no code asks for its pods.
func TestFreeSlot(t *testing.T) {
	for _, p := range []*v1.Pod{web(v1.DoNotSchedule), pod("plain", "web")} {
		hard, err := spread.CompileHard(p, spread.Options{})
		require.NoError(t, err)
		c := shop()
		c.list[1] = nil // Pods(1) panics
		s := hard.Count(c)
		trial := s.NewTrial()
		for _, slot := range []int{-1, 1, 5} {
			require.Equal(t, resources.Verdict(1|resources.Unresolvable), s.Check(slot))
			require.Equal(t, resources.Verdict(1|resources.Unresolvable), trial.Check(slot))
		}
		require.Zero(t, s.Check(2))
		require.Zero(t, trial.Check(2))
		require.Equal(t, "PodTopologySpread", s.Name())
	}
}

// The zero value of Options is v1.36's default profile: the built-in constraints with the selector of the pod's owners.
func TestOptionsZeroValue(t *testing.T) {
	p := pod("web-5", "web")
	controller := true
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: &controller}}
	all := []int{0, 1, 2, 3, 4}
	scores := func(c spread.Cluster, o spread.Options) []int64 {
		got, err := spread.Scores(p, c, all, o)
		require.NoError(t, err)
		return got
	}
	owners := replicaSets{"web": {Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}}
	want := scores(shop(), spread.Options{Owners: owners, Defaults: spread.Defaults{Type: "System"}})
	require.Equal(t, []int64{61, 92, 84, 100, 84}, want)
	require.Equal(t, want, scores(owned{shop(), owners}, spread.Options{}), "the cluster has the methods of Owners")
	require.Equal(t, make([]int64, 5), scores(shop(), spread.Options{}), "a cluster without services and controllers")
}

// owned is a cluster that knows its controllers.
type owned struct {
	*nodes
	replicaSets
}
