package podgroup

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
)

func TestShares(t *testing.T) {
	g := &Group{Claims: []Claim{{Name: "x", ClaimName: "shared"}, {Name: "y", TemplateName: "made"}}}
	type test struct {
		name, why string
		claim     v1.PodResourceClaim
		want      bool
	}
	testkit.Run(t, []test{
		{"E85", "the same name and the same claim", v1.PodResourceClaim{Name: "x", ResourceClaimName: ptr("shared")}, true},
		{"template", "the same name and the same template", v1.PodResourceClaim{Name: "y", ResourceClaimTemplateName: ptr("made")}, true},
		{"E86", "the same claim under another name is the pod's", v1.PodResourceClaim{Name: "z", ResourceClaimName: ptr("shared")}, false},
		{"another claim", "the same name for another claim is the pod's", v1.PodResourceClaim{Name: "x", ResourceClaimName: ptr("own")}, false},
		{"claim for a template", "the name of the template for a claim", v1.PodResourceClaim{Name: "y", ResourceClaimName: ptr("made")}, false},
		{"two sources", "the same claim, and a template besides", v1.PodResourceClaim{Name: "x", ResourceClaimName: ptr("shared"), ResourceClaimTemplateName: ptr("made")}, false},
		{"another source", "a template of the claim's name is no claim", v1.PodResourceClaim{Name: "x", ResourceClaimTemplateName: ptr("shared")}, false},
	}, func(t *testing.T, c test) { require.Equal(t, c.want, g.Shares(&c.claim)) })
}

func TestReservedFor(t *testing.T) {
	pod := member("p", "g")
	pod.UID = "p-uid"
	g := &Group{}
	g.Name, g.UID = "g", "g-uid"
	by := func(c resourcev1.ResourceClaimConsumerReference) *resourcev1.ResourceClaim {
		return &resourcev1.ResourceClaim{Status: resourcev1.ResourceClaimStatus{ReservedFor: []resourcev1.ResourceClaimConsumerReference{c}}}
	}
	pods := func(uid types.UID) *resourcev1.ResourceClaim {
		return by(resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "p", UID: uid})
	}
	on := Gates{Claims: true}
	require.True(t, ReservedFor(pods("p-uid"), pod, Gates{}))
	require.False(t, ReservedFor(pods("other"), pod, on), "another pod of the name")
	require.True(t, ReservedFor(by(g.Consumer()), pod, on))
	require.False(t, ReservedFor(by(g.Consumer()), pod, Gates{}), "the gate is off")
	g.UID = "older"
	require.True(t, ReservedFor(by(g.Consumer()), pod, on), "the name of the group counts, not its UID")
	require.False(t, ReservedFor(by(g.Consumer()), member("p", "h"), on), "another group")
	require.False(t, ReservedFor(&resourcev1.ResourceClaim{}, pod, on))
	for _, change := range []func(*resourcev1.ResourceClaimConsumerReference){
		func(r *resourcev1.ResourceClaimConsumerReference) { r.APIGroup = "" },
		func(r *resourcev1.ResourceClaimConsumerReference) { r.Resource = "workloads" },
	} {
		r := g.Consumer()
		change(&r)
		require.False(t, ReservedFor(by(r), pod, on), "another kind of that name: %v", r)
	}
	nameless := g.Consumer()
	nameless.Name = ""
	require.False(t, ReservedFor(by(nameless), testkit.Pod("p").Obj(), on), "a pod without group")
}
