package write

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
)

// The time of a condition's transition moves with its status, its generation with its text. The time of its probe stays.
func TestDifference(t *testing.T) {
	const before, now = 2, 3 // generations
	old, probe := metav1.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), metav1.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
	has := v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: "R", Message: "m", ObservedGeneration: before, LastTransitionTime: old, LastProbeTime: probe}
	ready := v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: old}
	wants := func(status v1.ConditionStatus, reason, message string) *v1.PodCondition {
		return &v1.PodCondition{Type: v1.PodScheduled, Status: status, Reason: reason, Message: message}
	}
	type test struct {
		name       string
		conditions []v1.PodCondition
		want       *v1.PodCondition
		same       bool // nothing is sent
		moved      bool // the time of the transition
		generation int64
	}
	testkit.Run(t, []test{
		{"no condition", nil, wants(v1.ConditionFalse, "R", "m"), false, true, now},
		{"another condition", []v1.PodCondition{ready}, wants(v1.ConditionFalse, "R", "m"), false, true, now},
		{"equal", []v1.PodCondition{ready, has}, wants(v1.ConditionFalse, "R", "m"), true, false, before},
		{"another message", []v1.PodCondition{has, ready}, wants(v1.ConditionFalse, "R", "n"), false, false, now},
		{"another reason", []v1.PodCondition{has}, wants(v1.ConditionFalse, "S", "m"), false, false, now},
		{"another status", []v1.PodCondition{has}, wants(v1.ConditionTrue, "R", "m"), false, true, now},
	}, func(t *testing.T, x test) {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: now, UID: "u", ResourceVersion: "7"}, Status: v1.PodStatus{Conditions: x.conditions}}
		body, err := difference(pod, scheduler.StatusPatch{Condition: x.want})
		require.NoError(t, err)
		require.Equal(t, x.same, body == nil)
		if x.same {
			return
		}
		plain, err := json.Marshal(pod)
		require.NoError(t, err)
		merged, err := strategicpatch.StrategicMergePatch(plain, body, v1.Pod{})
		require.NoError(t, err)
		var got v1.Pod
		require.NoError(t, json.Unmarshal(merged, &got))
		kept := slices.Contains(x.conditions, has)
		at := slices.IndexFunc(got.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodScheduled })
		c := got.Status.Conditions[at]
		require.Equal(t, []any{x.want.Status, x.want.Reason, x.want.Message}, []any{c.Status, c.Reason, c.Message})
		require.Equal(t, x.moved, !c.LastTransitionTime.Equal(&old))
		require.Equal(t, x.generation, c.ObservedGeneration)
		require.Equal(t, kept, c.LastProbeTime.Equal(&probe))
		require.Len(t, got.Status.Conditions, len(x.conditions)+map[bool]int{false: 1}[kept])
	})
}
