package tracker

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
)

func emptyTracker(t *testing.T) (*Tracker, *cluster.Snapshot) {
	t.Helper()
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	return New(s, Objects{}), s
}

// A tracker keeps nothing of claims and pods that are gone.
func TestNothingStays(t *testing.T) {
	tr, s := emptyTracker(t)
	tr.follow()
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", Annotations: map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"},
		OwnerReferences: []metav1.OwnerReference{{Name: "p", UID: "p", Controller: new(true)}}}}
	other := c.DeepCopy()
	other.Name = "other"
	tr.own(c)
	tr.own(other)
	tr.disown(c)
	require.Equal(t, map[owner][]*resourcev1.ResourceClaim{{"default", "p", "p"}: {other}}, tr.owned)
	tr.disown(other)
	require.Empty(t, tr.owned)

	tr.touch("p", nil, c)
	tr.touch("p", nil, other)
	tr.untouch(keyOf(c))
	require.Equal(t, map[types.UID][]types.NamespacedName{"p": {keyOf(other)}}, tr.assumed)
	tr.untouch(keyOf(other))
	require.Empty(t, tr.assumed)
	require.Empty(t, tr.touched)

	tr.touch("p", nil, c)
	require.NoError(t, tr.Forget(s, &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "p"}}))
	require.Empty(t, tr.assumed)
	require.Empty(t, tr.touched)
}

// A pod without claims costs nothing: the tracker reads no claim of the cluster, and makes no copy of the pod.
func TestPodsWithoutClaims(t *testing.T) {
	tr, s := emptyTracker(t)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}}
	require.NoError(t, tr.Assume(s, pod, devices.Allocation{}))
	require.Nil(t, tr.ledger)
	made, objects := tr.made(pod)
	require.Nil(t, made)
	require.Nil(t, objects)
}
