package write

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
)

// FuzzDifference merges a patch as the API server does, into a pod with random conditions. The result has what was asked for; nothing
// else has changed; the time of a transition moves with the status of its condition only; the same patch again is no patch.
func FuzzDifference(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(testkit.RandomBytes(seed, 60))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		past := metav1.NewTime(time.Date(2026, time.March, 2, 8, 0, 0, 0, time.Local))
		kinds := []v1.PodConditionType{v1.PodScheduled, v1.DisruptionTarget, v1.PodReady, "example.com/c"}
		condition := func(kind v1.PodConditionType) v1.PodCondition {
			return v1.PodCondition{
				Type: kind, Status: testkit.Pick(b, v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown), Reason: testkit.Pick(b, "", "Unschedulable", "SchedulerError"),
				Message: testkit.Pick(b, "", "0/1 nodes are available: 1 Insufficient cpu.", "100% \"full\"\n"), ObservedGeneration: int64(b.Below(3)),
			}
		}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "u", ResourceVersion: "7", Generation: 2}}
		pod.Status = v1.PodStatus{Phase: v1.PodPending, NominatedNodeName: testkit.Pick(b, "", "n1"), Message: testkit.Pick(b, "", "of others")}
		for _, kind := range kinds {
			if b.OneIn(2) {
				c := condition(kind)
				c.LastTransitionTime = past
				pod.Status.Conditions = append(pod.Status.Conditions, c)
			}
		}
		var patch scheduler.StatusPatch
		if !b.OneIn(4) {
			c := condition(testkit.Pick(b, kinds[:2]...))
			patch.Condition = &c
		}
		if b.OneIn(2) {
			node := testkit.Pick(b, "", "n1", "n2")
			patch.NominatedNode = &node
		}
		before := pod.DeepCopy()
		after := merged(t, pod, patch)
		require.Equal(t, before, pod, "the pod is not written to")
		require.Nil(t, body(t, after, patch), "the same patch again")

		if patch.NominatedNode != nil {
			require.Equal(t, *patch.NominatedNode, after.Status.NominatedNodeName)
			after.Status.NominatedNodeName = pod.Status.NominatedNodeName
		}
		if patch.Condition != nil {
			of := func(c v1.PodCondition) bool { return c.Type == patch.Condition.Type }
			at, was := slices.IndexFunc(after.Status.Conditions, of), slices.IndexFunc(pod.Status.Conditions, of)
			got := after.Status.Conditions[at]
			require.Equal(t, []any{patch.Condition.Status, patch.Condition.Reason, patch.Condition.Message}, []any{got.Status, got.Reason, got.Message})
			require.False(t, slices.ContainsFunc(after.Status.Conditions[at+1:], of), "one condition of a type")
			if was >= 0 {
				require.Equal(t, pod.Status.Conditions[was].Status == got.Status, got.LastTransitionTime.Equal(&past))
				after.Status.Conditions[at] = pod.Status.Conditions[was]
			} else {
				after.Status.Conditions = slices.Delete(after.Status.Conditions, at, at+1)
			}
		}
		require.True(t, equality.Semantic.DeepEqual(pod.Status, after.Status), "the rest stays: %v %v", pod.Status, after.Status)
	})
}

func body(t *testing.T, pod *v1.Pod, patch scheduler.StatusPatch) []byte {
	t.Helper()
	out, err := difference(pod, patch)
	require.NoError(t, err)
	return out
}

// merged returns the pod after the patch.
func merged(t *testing.T, pod *v1.Pod, patch scheduler.StatusPatch) *v1.Pod {
	t.Helper()
	diff := body(t, pod, patch)
	if diff == nil {
		return pod.DeepCopy()
	}
	var fields struct {
		Metadata map[string]string
		Status   map[string]any
	}
	require.NoError(t, json.Unmarshal(diff, &fields))
	require.Equal(t, map[string]string{"uid": "u", "resourceVersion": "7"}, fields.Metadata)
	require.NotContains(t, fmt.Sprint(fields.Status), "of others", "what does not change is not sent")
	old, err := json.Marshal(pod)
	require.NoError(t, err)
	text, err := strategicpatch.StrategicMergePatch(old, diff, v1.Pod{})
	require.NoError(t, err)
	out := &v1.Pod{}
	require.NoError(t, json.Unmarshal(text, out))
	return out
}
