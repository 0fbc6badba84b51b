package write_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/live/write"
)

// A condition of a group is one patch of the status, which names the group's UID.
func TestPatchGroup(t *testing.T) {
	began := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	condition := metav1.Condition{Type: podgroup.InitiallyScheduled, Status: metav1.ConditionFalse, Reason: podgroup.ReasonUnschedulable, Message: "m", ObservedGeneration: 3}
	type test struct {
		name, why string
		before    []metav1.Condition
		fails     []error
		want      error
		kept      bool // the time of the transition
		patches   int
	}
	testkit.Run(t, []test{
		{"first", "a new condition", nil, nil, nil, false, 1},
		{"again", "the status is the same", []metav1.Condition{{Type: podgroup.InitiallyScheduled, Status: metav1.ConditionFalse, LastTransitionTime: began}}, nil, nil, true, 1},
		{"other", "another status", []metav1.Condition{{Type: podgroup.InitiallyScheduled, Status: metav1.ConditionTrue, LastTransitionTime: began}}, nil, nil, false, 1},
		{"slow server", "it is tried again", nil, []error{failure(), failure()}, nil, false, 3},
		{"gone", "nobody needs it", nil, []error{notFound()}, scheduler.ErrGone, false, 1},
		{"forbidden", "it is the caller's", nil, []error{forbidden()}, forbidden(), false, 1},
	}, func(t *testing.T, c test) {
		api := fake.NewClientset(&schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "u"}})
		var sent [][]byte
		api.PrependReactor("patch", "podgroups", func(a clienttesting.Action) (bool, runtime.Object, error) {
			require.Equal(t, "status", a.GetSubresource())
			sent = append(sent, a.(clienttesting.PatchAction).GetPatch())
			if len(sent) <= len(c.fails) {
				return true, nil, c.fails[len(sent)-1]
			}
			return true, &schedulingv1beta1.PodGroup{}, nil
		})
		x := write.New(api, &view{}, write.Options{Retry: []time.Duration{time.Microsecond, time.Microsecond}})
		defer x.Close()
		g := &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "u"}, Conditions: c.before}
		err := x.PatchGroup(t.Context(), g, condition)
		if c.want == nil {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want.Error())
		}
		require.Len(t, sent, c.patches)
		var body struct {
			Metadata metav1.ObjectMeta
			Status   schedulingv1beta1.PodGroupStatus
		}
		require.NoError(t, json.Unmarshal(sent[0], &body))
		require.Equal(t, g.UID, body.Metadata.UID)
		require.Len(t, body.Status.Conditions, 1)
		got := body.Status.Conditions[0]
		require.Equal(t, c.kept, got.LastTransitionTime.Time.Equal(began.Time))
		require.False(t, got.LastTransitionTime.IsZero())
		got.LastTransitionTime = metav1.Time{}
		require.Equal(t, condition, got)
	})
}
