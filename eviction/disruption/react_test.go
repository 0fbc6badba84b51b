package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
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
	type test struct {
		name, why string
		s         *metav1.Status
		pod       *v1.Pod
		want      string
	}
	testkit.Run(t, []test{
		{"accepted", "until it is gone", answer(target()), target(), awaitDeletion},
		{"accepted as documented", "200 instead of 201", &metav1.Status{Code: 200}, target(), awaitDeletion},
		{"below success", "no success", &metav1.Status{Code: 199}, target(), giveUp},
		{"last code of success", "like the others", &metav1.Status{Code: 299}, target(), awaitDeletion},
		{"above success", "no success", &metav1.Status{Code: 300}, target(), giveUp},
		{"code of gone", "it is enough", &metav1.Status{Code: 404}, target(), gone},
		{"reason of gone", "it is enough", &metav1.Status{Reason: metav1.StatusReasonNotFound}, target(), gone},
		{"code of a rate limit", "it is enough", &metav1.Status{Code: 429}, target(), askAgain},
		{"reason of a rate limit", "it is enough", &metav1.Status{Reason: metav1.StatusReasonTooManyRequests}, target(), askAgain},
		{"gone", "done", answer(nil), target(), gone},
		{"budget", "without limit", answer(target(), counted(0, 2, 2, 3)), target(), askAgain},
		{"budget that never lets go", "kubectl does not know", answer(target(), counted(0, 3, 3, 3)), target(), askAgain},
		{"rate limit", "like a budget", &metav1.Status{Code: 429, Reason: metav1.StatusReasonTooManyRequests}, target(), askAgain},
		{"several budgets", "an error like others", answer(target(), pdb("a", "app=x", 5), pdb("b", "app=x", 5)), target(), giveUp},
		{"forbidden", "for another reason", answer(target(), counted(-1, 3, 2, 3)), target(), giveUp},
		{"namespace ends", "the pod will", ends, target(), askAgain},
		{"namespace ends and the pod does", "just wait", ends, leaving, awaitDeletion},
	}, func(t *testing.T, c test) {
		does, prints := React(c.s, c.pod)
		require.Equal(t, c.want, does)
		require.Equal(t, c.want == askAgain, prints != "")
	})
	_, prints := React(answer(target(), counted(0, 2, 2, 3)), target())
	require.Equal(t, `error when evicting pods/"p" -n "default" (will retry after 5s): `+violates, prints)
}
