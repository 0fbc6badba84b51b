package podinfo_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

func TestPriority(t *testing.T) {
	below, at := podinfo.SystemCritical-1, podinfo.SystemCritical
	require.Zero(t, podinfo.Priority(nil))
	require.Zero(t, podinfo.Priority(&v1.Pod{}), "a pod without priority has priority 0")
	require.Equal(t, below, podinfo.Priority(&v1.Pod{Spec: v1.PodSpec{Priority: &below}}))
	require.False(t, podinfo.Critical(&v1.Pod{Spec: v1.PodSpec{Priority: &below}}))
	require.True(t, podinfo.Critical(&v1.Pod{Spec: v1.PodSpec{Priority: &at}}))
}

func TestName(t *testing.T) {
	require.Equal(t, "default/web", podinfo.Name(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}))
}

func TestFinished(t *testing.T) {
	for phase, want := range map[v1.PodPhase]bool{v1.PodSucceeded: true, v1.PodFailed: true, v1.PodRunning: false, v1.PodPending: false, v1.PodUnknown: false, "": false} {
		require.Equal(t, want, podinfo.Finished(&v1.Pod{Status: v1.PodStatus{Phase: phase}}), "phase %q", phase)
	}
}

func TestPlaced(t *testing.T) {
	require.False(t, podinfo.Placed(&v1.Pod{}))
	require.True(t, podinfo.Placed(&v1.Pod{Spec: v1.PodSpec{NodeName: "n1"}}))
	require.True(t, podinfo.Placed(&v1.Pod{Status: v1.PodStatus{NominatedNodeName: "n1"}}))
}

func TestOrigin(t *testing.T) {
	with := func(key, value string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{key: value}}}
	}
	const source, mirror = "kubernetes.io/config.source", "kubernetes.io/config.mirror"
	require.False(t, podinfo.Static(&v1.Pod{}))
	require.False(t, podinfo.Static(with(source, "api")))
	require.True(t, podinfo.Static(with(source, "file")))
	require.True(t, podinfo.Static(with(source, "")), "an empty source is another source than the API server")
	require.False(t, podinfo.Mirror(&v1.Pod{}))
	require.True(t, podinfo.Mirror(with(mirror, "")), "the value does not matter")
}
