package tracker_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/testkit"
)

// firstOwned looks at all claims for the first by name that was made for the extended resources of a pod.
func firstOwned(o tracker.Objects, pod *v1.Pod) (found *resourcev1.ResourceClaim) {
	for c := range o.ResourceClaims(pod.Namespace) {
		if c.Annotations[resourcev1.ExtendedResourceClaimAnnotation] != "true" || found != nil && found.Name < c.Name {
			continue
		}
		for _, ref := range c.OwnerReferences {
			if ref.Controller != nil && *ref.Controller && ref.Name == pod.Name && ref.UID == pod.UID {
				found = c
			}
		}
	}
	return found
}

// A tracker finds the claim of a pod's extended resources with and without a log of claims: the first by name, after claims have come, changed and left, and in forks.
func TestExtendedResourceClaim(t *testing.T) {
	found := 0
	for seed := range 60 {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		s, followed := gpuCluster(t, 1, named("plain"))
		for step := range 60 {
			c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: []string{"default", "other"}[r.IntN(2)], Name: fmt.Sprintf("c%d", r.IntN(6))}}
			c.UID = types.UID(fmt.Sprintf("%s-%d", c.Name, step))
			if r.IntN(4) > 0 {
				c.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
			}
			for range r.IntN(3) {
				controller := []*bool{new(true), new(true), new(true), new(false), nil}[r.IntN(5)]
				c.OwnerReferences = append(c.OwnerReferences, metav1.OwnerReference{Kind: "Pod", Name: fmt.Sprintf("p%d", r.IntN(2)), UID: types.UID(fmt.Sprint(r.IntN(2))), Controller: controller})
			}
			if r.IntN(3) == 0 {
				c.Status.Allocation = &resourcev1.AllocationResult{}
			}
			if old := followed.ResourceClaim(c.Namespace, c.Name); old != nil && r.IntN(3) == 0 {
				require.NoError(t, s.Remove(old))
			} else {
				require.NoError(t, s.Set(c))
			}
			if r.IntN(20) == 0 {
				s = s.Fork()
				followed = followed.Fork(s, tracker.Of(s))
			}
			if r.IntN(3) == 0 {
				continue // several changes at once
			}
			read := tracker.New(testkit.NewCluster([]*v1.Node{s.Node(0)}, nil), tracker.Of(s))
			for k := range 8 {
				pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: []string{"default", "other"}[k%2], Name: fmt.Sprintf("p%d", k/2%2), UID: types.UID(fmt.Sprint(k / 4))}}
				want := firstOwned(tracker.Of(s), pod)
				require.Same(t, want, read.ExtendedResourceClaim(pod), "seed %d step %d", seed, step)
				require.Same(t, want, followed.ExtendedResourceClaim(pod), "seed %d step %d", seed, step)
				if want != nil {
					found++
				}
			}
		}
	}
	require.Greater(t, found, 2000)
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	require.Nil(t, tracker.New(s, tracker.Objects{}).ExtendedResourceClaim(&v1.Pod{}))
}
