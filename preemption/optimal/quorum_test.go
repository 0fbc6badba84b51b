package optimal_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption/optimal"
)

// A workload has the pods that run and stay, of its own namespace and controller; as many may leave as keep does not ask for.
func TestQuorums(t *testing.T) {
	one := func(kind, name string) *v1.Pod { return owned(testkit.Pod("p").On("n1"), kind, name) }
	leaving, ended, elsewhere := one("ReplicaSet", "web"), one("ReplicaSet", "web"), one("ReplicaSet", "web")
	leaving.DeletionTimestamp = &metav1.Time{Time: now}
	ended.Status.Phase = v1.PodSucceeded
	elsewhere.Namespace = "other"
	alone := testkit.Pod("alone").On("n1").Obj()
	pods := []*v1.Pod{one("ReplicaSet", "web"), one("ReplicaSet", "web"), one("ReplicaSet", "web"), leaving, ended, nil, elsewhere, one("StatefulSet", "web"), alone, one("Job", "batch"), one("Job", "batch")}
	counted := map[string]int{}
	quorum := optimal.Quorums(pods, func(owner *metav1.OwnerReference, n int) int {
		counted[owner.Kind] = max(counted[owner.Kind], n)
		switch owner.Kind {
		case "Job":
			return 0 // free
		case "StatefulSet":
			return 5
		}
		return optimal.Majority(n)
	})
	require.Equal(t, map[string]int{"ReplicaSet": 3, "StatefulSet": 1, "Job": 2}, counted)
	leave := func(p *v1.Pod) int {
		name, n := quorum(p)
		if name == "" {
			require.Zero(t, n)
			return -1
		}
		return n
	}
	require.Equal(t, 1, leave(pods[0]), "two of three stay")
	require.Equal(t, -1, leave(leaving), "it leaves anyway")
	require.Equal(t, 0, leave(elsewhere), "the only pod of the other namespace stays")
	require.Equal(t, 0, leave(pods[7]), "more should stay than run")
	require.Equal(t, -1, leave(pods[9]), "no pod of the Job has to stay")
	require.Equal(t, -1, leave(alone))
	require.Equal(t, -1, leave(nil))
	require.Equal(t, -1, leave(one("ReplicaSet", "unknown")))
	a, _ := quorum(pods[0])
	b, _ := quorum(pods[7])
	c, _ := quorum(elsewhere)
	require.Equal(t, []string{"default/ReplicaSet/web", "default/StatefulSet/web", "other/ReplicaSet/web"}, []string{a, b, c})
	free, _ := optimal.Quorums(pods, nil)(pods[0])
	require.Empty(t, free)
	for n, want := range []int{1, 1, 2, 2, 3} {
		require.Equal(t, want, optimal.Majority(n))
	}
}
