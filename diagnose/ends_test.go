package diagnose

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

// The end of a running pod is the earliest of its known ends, of equal ones the first in the order of grace, deadline, taint and completion.
func TestEndOf(t *testing.T) {
	at := func(seconds int64) *metav1.Time {
		x := metav1.NewTime(testkit.Epoch.Add(time.Duration(seconds) * time.Second))
		return &x
	}
	type test struct {
		name                           string
		grace, started, added          *metav1.Time
		deadline, tolerated, completes int64 // -1: none
		effect                         v1.TaintEffect
		want                           int64
		is                             string
	}
	testkit.Run(t, []test{
		{"nothing is known", nil, nil, nil, -1, -1, -1, v1.TaintEffectNoExecute, 0, ""},
		{"grace", at(30), nil, nil, -1, -1, -1, v1.TaintEffectNoExecute, 30, "grace"},
		{"a deadline", nil, at(10), nil, 60, -1, -1, v1.TaintEffectNoExecute, 70, "deadline"},
		{"a deadline of a pod that has not started", nil, nil, nil, 60, -1, -1, v1.TaintEffectNoExecute, 0, ""},
		{"started without a deadline", nil, at(10), nil, -1, -1, -1, v1.TaintEffectNoExecute, 0, ""},
		{"a taint", nil, nil, at(5), -1, 20, -1, v1.TaintEffectNoExecute, 25, "taint"},
		{"a taint tolerated for less than no time", nil, nil, at(5), -1, -20, -1, v1.TaintEffectNoExecute, 5, "taint"},
		{"a taint tolerated for ever", nil, nil, at(5), -1, -1, -1, v1.TaintEffectNoExecute, 0, ""},
		{"a taint of unknown age", nil, nil, nil, -1, 20, -1, v1.TaintEffectNoExecute, 0, ""},
		{"a taint that evicts nobody", nil, nil, at(5), -1, 20, -1, v1.TaintEffectNoSchedule, 0, ""},
		{"completion", nil, nil, nil, -1, -1, 40, v1.TaintEffectNoExecute, 40, "completion"},
		{"the earliest of four", at(50), at(0), at(0), 49, 48, 47, v1.TaintEffectNoExecute, 47, "completion"},
		{"the taint before the others", at(50), at(0), at(0), 49, 46, 47, v1.TaintEffectNoExecute, 46, "taint"},
		{"equal ends", at(50), at(0), at(0), 50, 50, 50, v1.TaintEffectNoExecute, 50, "grace"},
	}, func(t *testing.T, c test) {
		p := testkit.Pod("a").Obj()
		p.DeletionTimestamp, p.Status.StartTime = c.grace, c.started
		if c.deadline >= 0 {
			p.Spec.ActiveDeadlineSeconds = &c.deadline
		}
		toleration := v1.Toleration{Key: "old", Operator: v1.TolerationOpExists}
		if c.tolerated != -1 {
			toleration.TolerationSeconds = &c.tolerated
		}
		p.Spec.Tolerations = []v1.Toleration{toleration}
		n := testkit.Node("n").Obj()
		n.Spec.Taints = []v1.Taint{{Key: "old", Effect: c.effect, TimeAdded: c.added}}
		o := WakeOptions{Completes: func(*v1.Pod) (time.Time, bool) { return at(c.completes).Time, c.completes >= 0 }}
		got, why := endOf(p, n, taints.Options{}, o)
		require.Equal(t, c.is, why)
		if why != "" {
			require.Equal(t, at(c.want).Time, got)
		}
		_, why = endOf(p, n, taints.Options{}, WakeOptions{})
		require.NotEqual(t, "completion", why)
	})
}

// A deadline that a time.Duration cannot hold is the largest one. A taint that is tolerated for longer is tolerated for ever.
func TestEndOfHugeTimes(t *testing.T) {
	for _, huge := range []int64{1 << 34, math.MaxInt64} { // in nanoseconds both are negative as an int64
		p, n := testkit.Pod("a").Obj(), testkit.Node("n").Obj()
		p.Status.StartTime = &metav1.Time{Time: testkit.Epoch}
		p.Spec.ActiveDeadlineSeconds = &huge
		at, why := endOf(p, n, taints.Options{}, WakeOptions{})
		require.Equal(t, []any{testkit.Epoch.Add(math.MaxInt64), "deadline"}, []any{at, why})

		p.Spec.ActiveDeadlineSeconds = nil
		p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists, TolerationSeconds: &huge}}
		n.Spec.Taints = []v1.Taint{{Key: "old", Effect: v1.TaintEffectNoExecute, TimeAdded: p.Status.StartTime}}
		_, why = endOf(p, n, taints.Options{}, WakeOptions{})
		require.Empty(t, why)
	}
}

// The first toleration that tolerates a taint decides how long the pod stays. Of several taints the first deadline counts.
func TestEndOfSeveralTaints(t *testing.T) {
	old := func(seconds *int64) v1.Toleration {
		return v1.Toleration{Key: "old", Operator: v1.TolerationOpExists, TolerationSeconds: seconds}
	}
	all := v1.Toleration{Operator: v1.TolerationOpExists, TolerationSeconds: new(int64(20))}
	n := testkit.Node("n").Obj()
	n.Spec.Taints = []v1.Taint{
		{Key: "old", Effect: v1.TaintEffectNoExecute, TimeAdded: &metav1.Time{Time: testkit.Epoch}},
		{Key: "broken", Effect: v1.TaintEffectNoExecute, TimeAdded: &metav1.Time{Time: testkit.Epoch.Add(5 * time.Second)}},
	}
	for _, c := range []struct {
		tolerations []v1.Toleration
		want        time.Duration
	}{
		{[]v1.Toleration{old(nil), all}, 25 * time.Second},
		{[]v1.Toleration{old(new(int64(60))), all}, 25 * time.Second},
		{[]v1.Toleration{old(new(int64(10))), all}, 10 * time.Second},
		{[]v1.Toleration{all, old(new(int64(10)))}, 20 * time.Second},
	} {
		p := testkit.Pod("a").Obj()
		p.Spec.Tolerations = c.tolerations
		at, why := endOf(p, n, taints.Options{}, WakeOptions{})
		require.Equal(t, []any{testkit.Epoch.Add(c.want), "taint"}, []any{at, why})
	}
}
