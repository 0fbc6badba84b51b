package disruption

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

func TestCausesOfReleases(t *testing.T) {
	pod := testkit.Pod("web-1").Labels("app=web").On("n1").Obj()
	pod.Status.Phase = v1.PodRunning
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	budget := func(change func(s *policyv1.PodDisruptionBudgetStatus)) *policyv1.PodDisruptionBudget {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
		change(&b.Status)
		return b
	}
	const (
		healthy  = "The disruption budget web needs 2 healthy pods and has 3 currently"
		short    = "The disruption budget web does not allow evicting pods currently"
		negative = short + ": pdb disruptions allowed is negative"
		pending  = short + ": too many pending evictions not confirmed by PDB controller"
	)
	type test struct {
		name, why string
		budget    *policyv1.PodDisruptionBudget
		code      int32
		want      testkit.ByRelease[string]
	}
	testkit.Run(t, []test{
		{"L13.1", "more healthy pods than desired", budget(func(s *policyv1.PodDisruptionBudgetStatus) { s.DesiredHealthy, s.CurrentHealthy = 2, 3 }), 429, testkit.ByRelease[string]{healthy, short, short, short}},
		{"L13.1 equal", "the first text of all", budget(func(s *policyv1.PodDisruptionBudgetStatus) { s.DesiredHealthy, s.CurrentHealthy = 2, 2 }), 429,
			testkit.ByRelease[string]{strings.Replace(healthy, "3", "2", 1), strings.Replace(healthy, "3", "2", 1), strings.Replace(healthy, "3", "2", 1), strings.Replace(healthy, "3", "2", 1)}},
		{"L13.2 negative", "403", budget(func(s *policyv1.PodDisruptionBudgetStatus) { s.DisruptionsAllowed = -1 }), 403, testkit.ByRelease[string]{"", "", "", negative}},
		{"L13.2 too many", "403", budget(func(s *policyv1.PodDisruptionBudgetStatus) {
			s.DisruptedPods = map[string]metav1.Time{}
			for k := range 2001 {
				s.DisruptedPods[strings.Repeat("x", k+1)] = metav1.Time{}
			}
		}), 403, testkit.ByRelease[string]{"", "", "", pending}},
	}, func(t *testing.T, tc test) {
		for _, v := range release.Versions() {
			d := Decide(pod, []*policyv1.PodDisruptionBudget{tc.budget}, Request{Release: v}, time.Time{})
			require.Equal(t, tc.code, d.Code, "%s: %s", v, tc.why)
			require.Equal(t, tc.want.In(v), d.Cause, "%s: %s", v, tc.why)
			status := d.StatusObject()
			require.Equal(t, tc.want.In(v) != "", len(status.Details.Causes) > 0, v.String())
		}
	})
}

func TestDrainOfReleases(t *testing.T) {
	bare := testkit.Pod("p").On("n1").Obj()
	const once = "cannot delete Pods that declare no controller (use --force to override)"
	want := testkit.ByRelease[string]{"cannot delete " + once, "cannot delete " + once, once, once}
	for _, v := range release.Versions() {
		_, reason := treat(bare, DrainOptions{Release: v}, time.Time{})
		require.Equal(t, want.In(v), reason, v.String())
	}
}
