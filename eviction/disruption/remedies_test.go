package disruption

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
)

// What a user can do about each refusal, the best remedy first.
func TestRemedies(t *testing.T) {
	const pause = "; pause the automation that evicts and look into the application"
	const unhealthy = "; unhealthyPodEvictionPolicy AlwaysAllow lets pods go that are not ready"
	budget := func(current, desired, expected int32) *policyv1.PodDisruptionBudget {
		return counted(0, current, desired, expected)
	}
	lenient := budget(1, 2, 3)
	lenient.Spec.UnhealthyPodEvictionPolicy = ptr(policyv1.AlwaysAllow)
	spec := func(b *policyv1.PodDisruptionBudget, max, min string) *policyv1.PodDisruptionBudget {
		if max != "" {
			b.Spec.MaxUnavailable = amount(max)
		}
		if min != "" {
			b.Spec.MinAvailable = amount(min)
		}
		return b
	}
	unsynced := budget(0, 0, 0)
	unsynced.Status.Conditions = []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Reason: policyv1.SyncFailedReason}}
	const anyNumber = " refuses every eviction, at any number of replicas"
	strict := budget(1, 2, 3)
	strict.Spec.UnhealthyPodEvictionPolicy = ptr(policyv1.IfHealthyBudget)
	type test struct {
		name string
		kind refusal
		by   *policyv1.PodDisruptionBudget
		want string
	}
	testkit.Run(t, []test{
		{"accepted", accepted, nil, ""},
		{"bad request", badRequest, nil, "correct the request"},
		{"not found", notFound, nil, "correct the request"},
		{"conflict", conflict, nil, "read the pod again and repeat the request without, or with its present, preconditions"},
		{"several budgets", several, nil, "let one PodDisruptionBudget select the pod: remove or narrow the others" + pause},
		{"processing", processing, nil, "wait until the disruption controller has seen the budget, then repeat the request"},
		{"too many disrupted pods", tooMany, nil, "wait until the disruption controller has confirmed the evictions" + pause},
		{"negative", negative, nil, "let the disruption controller compute the status of the budget again" + pause},
		{"failed sync", failedSync, nil, "correct the selector, or give every selected pod a controller with a scale; minAvailable as a number needs none" + pause},
		{"no pods expected", exhausted, budget(0, 0, 0), "the budget expects no pods: minAvailable as a number covers pods without a controller" + pause},
		{"every pod wanted", exhausted, budget(3, 3, 3), "raise the replicas above what the budget demands, or lower what it demands: it wants every pod" + pause},
		{"every pod wanted, and one is not ready", exhausted, budget(2, 3, 3), "raise the replicas above what the budget demands, or lower what it demands: it wants every pod" + unhealthy + pause},
		{"maxUnavailable 0", exhausted, spec(budget(3, 3, 3), "0", ""), "set maxUnavailable 1: maxUnavailable 0" + anyNumber + pause},
		{"maxUnavailable 0%", exhausted, spec(budget(3, 3, 3), "0%", ""), "set maxUnavailable 1: maxUnavailable 0%" + anyNumber + pause},
		{"maxUnavailable 1 with an old status", exhausted, spec(budget(3, 3, 3), "1", ""), "raise the replicas above what the budget demands, or lower what it demands: it wants every pod" + pause},
		{"minAvailable 100%", exhausted, spec(budget(3, 3, 3), "", "100%"), "set maxUnavailable 1: minAvailable 100%" + anyNumber + pause},
		{"minAvailable 90%", exhausted, spec(budget(3, 3, 3), "", "90%"), "raise the replicas to 10 or more, or lower minAvailable: 90% of 3, rounded up, is every pod" + pause},
		{"minAvailable 51%", exhausted, spec(budget(1, 1, 1), "", "51%"), "raise the replicas to 3 or more, or lower minAvailable: 51% of 1, rounded up, is every pod" + pause},
		{"minAvailable 3", exhausted, spec(budget(3, 3, 3), "", "3"), "raise the replicas above what the budget demands, or lower what it demands: it wants every pod" + pause},
		{"processing, and the last sync failed", processing, unsynced, "correct the selector, or give every selected pod a controller with a scale; minAvailable as a number needs none"},
		{"just enough are ready", exhausted, budget(2, 2, 3), "wait until more pods are ready" + pause},
		{"too few are ready", exhausted, budget(1, 2, 3), "wait until more pods are ready" + unhealthy + pause},
		{"too few are ready, and the policy is the default one", exhausted, strict, "wait until more pods are ready" + unhealthy + pause},
		{"too few are ready, and the policy is AlwaysAllow", exhausted, lenient, "wait until more pods are ready" + pause},
	}, func(t *testing.T, c test) {
		d := Decision{kind: c.kind, by: c.by}
		var have []string
		for _, r := range d.Remedies() {
			have = append(have, r.Text)
		}
		require.Equal(t, c.want, strings.Join(have, "; "))
		for _, r := range d.Remedies() {
			for kind, begins := range kinds {
				require.Equal(t, kind == r.Kind, strings.HasPrefix(r.Text, begins), "%s: %s", r.Kind, r.Text)
			}
		}
	})
}

// A precondition that is not given holds for every pod.
func TestMismatch(t *testing.T) {
	pod := target()
	uid, other := pod.UID, types.UID("u2")
	version, older := pod.ResourceVersion, "0"
	require.Empty(t, mismatch(nil, pod))
	require.Empty(t, mismatch(&metav1.Preconditions{}, pod))
	require.Empty(t, mismatch(&metav1.Preconditions{UID: &uid}, pod))
	require.Empty(t, mismatch(&metav1.Preconditions{ResourceVersion: &version}, pod))
	require.Equal(t, "the UID in the precondition (u2) does not match the UID in record (u1). The object might have been deleted and then recreated",
		mismatch(&metav1.Preconditions{UID: &other, ResourceVersion: &older}, pod))
	require.Equal(t, "the ResourceVersion in the precondition (0) does not match the ResourceVersion in record (1). The object might have been modified",
		mismatch(&metav1.Preconditions{UID: &uid, ResourceVersion: &older}, pod))
}

// A pod of a DaemonSet that does not exist is refused like an unknown object, and leaves with force.
func TestTreatDaemonSets(t *testing.T) {
	pod := healthyPod("d/p", "DaemonSet/agent")
	exists := func(is bool) func(namespace, name string) bool {
		return func(namespace, name string) bool {
			require.Equal(t, []string{"d", "agent"}, []string{namespace, name})
			return is
		}
	}
	_, reason := treat(pod, DrainOptions{DaemonSetExists: exists(true)}, now)
	require.Equal(t, daemonSetRefused, reason)
	got, _ := treat(pod, DrainOptions{DaemonSetExists: exists(true), IgnoreDaemonSets: true}, now)
	require.Equal(t, skip, got)
	got, reason = treat(pod, DrainOptions{DaemonSetExists: exists(false), IgnoreDaemonSets: true}, now)
	require.Equal(t, refuses, got)
	require.Equal(t, `cannot delete daemonsets.apps "agent" not found`, reason)
	got, _ = treat(pod, DrainOptions{DaemonSetExists: exists(false), IgnoreDaemonSets: true, Force: true}, now)
	require.Equal(t, leave, got)
}

// A 403 is known by its code or by its reason, and only with the cause that the namespace terminates.
func TestNamespaceTerminates(t *testing.T) {
	details := &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "Other"}, {Type: "NamespaceTerminating"}}}
	require.True(t, namespaceTerminates(&metav1.Status{Code: 403, Details: details}))
	require.True(t, namespaceTerminates(&metav1.Status{Reason: metav1.StatusReasonForbidden, Details: details}))
	require.False(t, namespaceTerminates(&metav1.Status{Code: 409, Details: details}))
	require.False(t, namespaceTerminates(&metav1.Status{Code: 403}))
	require.False(t, namespaceTerminates(&metav1.Status{Code: 403, Details: &metav1.StatusDetails{Causes: details.Causes[:1]}}))
}

// kinds are how the texts of each kind of remedy begin.
var kinds = map[RemedyKind]string{
	WaitForPods: "wait until more pods", MendSync: "correct the selector", AllowOne: "set maxUnavailable 1",
	RaiseReplicas: "raise the replicas", AllowUnhealthy: "unhealthyPodEvictionPolicy AlwaysAllow",
}
