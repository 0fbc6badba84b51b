package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// What a caller gets or gives is the caller's: writing into it changes nothing here, and it is not written into here.
func TestSharesNothing(t *testing.T) {
	r := newRig(t, Options{}, three())
	f := r.s.Profile(v1.DefaultSchedulerName)
	want := fmt.Sprint(f.ListPlugins())
	for _, refs := range f.ListPlugins() {
		clear(refs)
	}
	require.Equal(t, want, fmt.Sprint(f.ListPlugins()), "lists of plugins")

	old := pod("p")
	old.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse}}
	patched := StatusPatch{Condition: &v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue}}.Apply(old)
	require.Equal(t, v1.ConditionTrue, patched.Status.Conditions[0].Status)
	require.Equal(t, v1.ConditionFalse, old.Status.Conditions[0].Status, "conditions of a pod that a patch is applied to")

	room, plugins := newWaitingRoom(), map[string]time.Duration{"A": time.Second, "B": time.Second}
	room.enter(old, plugins, r.clock.Now())
	room.allow(old.UID, "A")
	require.Len(t, plugins, 2, "the plugins that a pod waits for")
}
