package disruption

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReact(t *testing.T) {
	leaving := target()
	leaving.DeletionTimestamp = &metav1.Time{Time: now}
	answer := func(pod *v1.Pod, pdbs ...*policyv1.PodDisruptionBudget) *metav1.Status {
		d := Decide(pod, pdbs, Request{}, now)
		s := d.StatusObject()
		return &s
	}
	ends := &metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: v1.NamespaceTerminatingCause}}}}
	for _, c := range []struct {
		name, why string
		s         *metav1.Status
		pod       *v1.Pod
		want      Reaction
	}{
		{"accepted", "until it is gone", answer(target()), target(), AwaitDeletion},
		{"gone", "done", answer(nil), target(), Gone},
		{"budget", "without limit", answer(target(), counted(0, 2, 2, 3)), target(), AskAgain},
		{"budget that never lets go", "kubectl does not know", answer(target(), counted(0, 3, 3, 3)), target(), AskAgain},
		{"rate limit", "like a budget", &metav1.Status{Code: 429, Reason: metav1.StatusReasonTooManyRequests}, target(), AskAgain},
		{"several budgets", "an error like others", answer(target(), pdb("a", "app=x", 5), pdb("b", "app=x", 5)), target(), GiveUp},
		{"forbidden", "for another reason", answer(target(), counted(-1, 3, 2, 3)), target(), GiveUp},
		{"namespace ends", "the pod will", ends, target(), AskAgain},
		{"namespace ends and the pod does", "just wait", ends, leaving, AwaitDeletion},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want.String(), React(c.s, c.pod).String(), c.why) })
	}
	require.Equal(t, `error when evicting pods/"p" -n "default" (will retry after 5s): `+violates, RetryText(target(), violates))
	require.Equal(t, "global timeout reached: 30s", TimeoutText(30*time.Second))
}
