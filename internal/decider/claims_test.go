package decider

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A pod that leaves is taken off each of its claims, wherever the pod names the claim; a name without a claim is passed over.
func TestRelease(t *testing.T) {
	pod := testkit.Pod("p").Obj()
	pod.UID = "u"
	use := func(name string) v1.PodResourceClaim {
		return v1.PodResourceClaim{Name: name, ResourceClaimName: &name}
	}
	made := "made"
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{use("unknown"), use("alone"), use("shared"), {Name: "template", ResourceClaimTemplateName: &made}}
	pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "not made"}, {Name: "template", ResourceClaimName: &made}}
	pod.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{ResourceClaimName: "extended"}

	claim := func(name string, users ...types.UID) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: name}}
		c.Status.Allocation = &resourcev1.AllocationResult{}
		for _, u := range users {
			c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: string(u), UID: u})
		}
		return c
	}
	own := func(name string) *resourcev1.ResourceClaim {
		c, yes := claim(name, "u"), true
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u", Controller: &yes}}
		return c
	}
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	for _, c := range []*resourcev1.ResourceClaim{claim("alone", "u"), claim("shared", "u", "other"), own("made"), own("extended"), claim("of another", "other")} {
		require.NoError(t, s.Set(c))
	}
	ReleaseClaims(s, pod)

	left := map[string][]string{}
	for c := range cluster.List[*resourcev1.ResourceClaim](s).All() {
		users := []string{}
		for _, r := range c.Status.ReservedFor {
			users = append(users, r.Name)
		}
		left[c.Name] = users
		require.Equal(t, len(users) > 0, c.Status.Allocation != nil, c.Name)
	}
	require.Equal(t, map[string][]string{"alone": {}, "shared": {"other"}, "of another": {"other"}}, left)
}

// Every entry whose template exists gets a claim and a status; the other entries get none.
func TestMake(t *testing.T) {
	pod := testkit.Pod("p").Obj()
	there, absent := "there", "absent"
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "direct", ResourceClaimName: &there}, {Name: "a", ResourceClaimTemplateName: &absent},
		{Name: "b", ResourceClaimTemplateName: &there}, {Name: "c", ResourceClaimTemplateName: &there}}
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	require.NoError(t, s.Set(&resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "there"}}))
	MakeClaims(s, pod, "-1")

	var entries []string
	claims := cluster.List[*resourcev1.ResourceClaim](s)
	for _, status := range pod.Status.ResourceClaimStatuses {
		entries = append(entries, status.Name)
		_, ok := claims.Get(pod.Namespace, *status.ResourceClaimName)
		require.True(t, ok, status.Name)
	}
	require.Equal(t, []string{"b", "c"}, entries)
}
