package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A budget is synced when a pod of the budget has changed, and not again before the next change.
func TestSyncOfChangedBudgets(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2", nil)
	w.budget("web", "web", "50%") // asks for the scale of the controller
	x := w.begun(t, Options{})
	syncs := 0
	scale := func(pod *v1.Pod, owner metav1.OwnerReference) (types.UID, int32, error) {
		syncs++
		return x.scale(pod, owner)
	}
	sync := func() int {
		syncs = 0
		x.budgets.sync(scale, x.clock())
		return syncs
	}
	require.Positive(t, sync())
	require.Zero(t, sync())
	x.remove(x.onNode["n1"][0])
	require.Positive(t, sync())
	require.Zero(t, sync())
}

// The end of a batch ends every mark of the snapshot: the undo log does not grow from batch to batch.
func TestBatchEndsItsMarks(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n1", nil)
	w.stateful("db", "cpu=1", "n1", "", nil)
	x := w.begun(t, given("n1"))
	var inside cluster.Mark
	x.o.Pinned = func(*v1.Pod) string {
		inside = x.snapshot.Mark()
		return ""
	}
	x.batch(Replace, []string{"n1"})
	require.Equal(t, 1, x.plan.Replaced)
	require.False(t, x.snapshot.Rollback(inside))
}

// One pod of a ReplicaSet or ReplicationController is admitted for all. The pods of other controllers may differ.
func TestAdmittedOnce(t *testing.T) {
	x := five("cpu=4").begun(t, Options{})
	for _, kind := range []string{"ReplicaSet", "ReplicationController", "StatefulSet"} {
		u := &unit{kind: kind}
		var pods [3]*v1.Pod
		for i := range pods {
			var err error
			pods[i], err = x.admit(u, testkit.Pod("p").Request("cpu=1").Obj())
			require.NoError(t, err)
		}
		alike := kind != "StatefulSet"
		require.Equal(t, alike, &pods[0].Spec.Containers[0] == &pods[1].Spec.Containers[0], kind)
		require.Equal(t, alike, &pods[1].Spec.Containers[0] == &pods[2].Spec.Containers[0], kind)
		pods[1].Name = "other"
		require.Equal(t, "pp", pods[0].Name+pods[2].Name, "%s: each pod has a name of its own", kind)
	}
	refused := testkit.Pod("p").Obj()
	refused.Spec.PriorityClassName = "none"
	refused.Spec.Priority = nil
	u := &unit{kind: "ReplicaSet"}
	_, err := x.admit(u, refused)
	require.ErrorContains(t, err, "none")
	require.Nil(t, x.admitted[u])
}

// A budget at the end of a plan counts the pods that get nodes after the last step. Remedies read the budget then.
func TestBudgetsAtTheEnd(t *testing.T) {
	w := five("cpu=2")
	web := w.app("web", "cpu=1", "n1", nil)
	w.pod("ReplicaSet", "web", "web-waits", "", web.Spec.Template)
	w.budget("web", "web", "1")
	x := w.begun(t, Options{})
	x.wait()
	require.Empty(t, x.pending)
	require.EqualValues(t, 2, x.budgets.list[0].Status.ExpectedPods)
}
