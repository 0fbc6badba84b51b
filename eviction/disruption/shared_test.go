package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is returned shares nothing with what was given.
func TestNothingIsShared(t *testing.T) {
	b := counted(0, 3, 3, 3)
	list := []*policyv1.PodDisruptionBudget{nil, b, nil}
	require.NotEmpty(t, Proof(list))
	require.Equal(t, []*policyv1.PodDisruptionBudget{nil, b, nil}, list, "nil budgets are left out of a copy")

	e := NewEvictions(list[1:2])
	e.Budgets()[0] = nil
	require.NotNil(t, e.Budgets()[0])

	wanted := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{}}
	pod := phase(v1.PodPending)
	pod.ResourceVersion = "7"
	d := Decide(pod, nil, Request{Eviction: &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, DeleteOptions: wanted}}, now)
	require.Equal(t, "7", *d.Preconditions.ResourceVersion, "a pod that has not begun is deleted as it was seen")
	require.Nil(t, wanted.Preconditions.ResourceVersion)
}

// Each refusal of kubectl drain names its flag, or what the flag loses.
func TestFlags(t *testing.T) {
	require.Contains(t, flagFor(daemonSetRefused), "--ignore-daemonsets")
	require.Contains(t, flagFor(emptyDirRefused), "--delete-emptydir-data")
	require.Contains(t, flagFor(unmanagedRefused), "no controller creates the pod again")
}
