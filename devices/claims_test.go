package devices_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/hints"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/release"
)

// claimPod returns the pod default/p with one entry for the claim web and one entry for a template.
func claimPod(statuses ...v1.PodResourceClaimStatus) *v1.Pod {
	web, template := "web", "gpu"
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", GenerateName: "other-", UID: "p-uid"},
		Spec:       v1.PodSpec{ResourceClaims: []v1.PodResourceClaim{{Name: "a", ResourceClaimName: &web}, {Name: "b", ResourceClaimTemplateName: &template}}},
		Status:     v1.PodStatus{ResourceClaimStatuses: statuses},
	}
}

func TestGate(t *testing.T) {
	generated := devices.ClaimFromTemplate(claimPod(), "b", &resourcev1.ResourceClaimTemplate{}, "12345")
	foreign := generated.DeepCopy()
	foreign.OwnerReferences = nil
	deleted := gpuClaim("web", 1)
	deleted.DeletionTimestamp = &metav1.Time{Time: noon}
	none, made := v1.PodResourceClaimStatus{Name: "b"}, v1.PodResourceClaimStatus{Name: "b", ResourceClaimName: &generated.Name}
	type test struct {
		name, why string
		pod       *v1.Pod
		claims    world
		want      string
	}
	testkit.Run(t, []test{
		{"both exist", "the pod may enter the queue", claimPod(made), world{"web": gpuClaim("web", 1), generated.Name: generated}, ""},
		{"no claim needed", "the status says that the entry has no claim", claimPod(none), world{"web": gpuClaim("web", 1)}, ""},
		{"missing", "the user has not created the claim", claimPod(made), world{}, `could not find ResourceClaim "default/web"`},
		{"deleted", "the claim will be gone before the pod starts", claimPod(made), world{"web": deleted}, `resourceclaim "web" is being deleted`},
		{"not made yet", "the controller has not created the claim", claimPod(), world{"web": gpuClaim("web", 1)}, `pod "default/p": ResourceClaim not created yet`},
		{"of another pod", "a pod with the same name owned the claim", claimPod(made), world{"web": gpuClaim("web", 1), generated.Name: foreign},
			"ResourceClaim default/p-b-12345 was not created for Pod default/p (Pod is not owner)"},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, devices.Gate(c.pod, c.claims))
	})
}

// grouped are objects of a cluster where groups have claims.
type grouped struct{ world }

func (grouped) ClaimGroup(*v1.Pod) *podgroup.Group {
	return &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Name: "g", UID: "g-uid"}}
}

// Where the pod's group may have claims, a claim is that of the pod or of the group.
func TestClaimOfAnotherGroup(t *testing.T) {
	generated := devices.ClaimFromTemplate(claimPod(), "b", &resourcev1.ResourceClaimTemplate{}, "12345")
	pod := claimPod(v1.PodResourceClaimStatus{Name: "b", ResourceClaimName: &generated.Name})
	objects := grouped{world{"web": gpuClaim("web", 1), generated.Name: generated}}
	claims, err := devices.PodClaims(pod, objects)
	require.NoError(t, err)
	require.Len(t, claims, 2)
	generated.OwnerReferences[0].UID = "g-uid"
	_, err = devices.PodClaims(pod, objects)
	require.NoError(t, err)
	generated.OwnerReferences[0].UID = "other"
	_, err = devices.PodClaims(pod, objects)
	require.EqualError(t, err, "ResourceClaim default/p-b-12345 was not created for Pod default/p (neither Pod nor PodGroup g is the owner)")
}

func TestClaimFromTemplate(t *testing.T) {
	template := &resourcev1.ResourceClaimTemplate{Spec: resourcev1.ResourceClaimTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"note": "x"}}, Spec: gpuClaim("", 1).Spec,
	}}
	c := devices.ClaimFromTemplate(claimPod(), "b", template, "12345")
	require.Equal(t, "p-b-12345", c.Name)
	require.True(t, metav1.IsControlledBy(c, claimPod()))
	require.Equal(t, map[string]string{"team": "a"}, c.Labels)
	require.Equal(t, map[string]string{"note": "x", "resource.kubernetes.io/pod-claim-name": "b"}, c.Annotations)
	require.Equal(t, template.Spec.Spec, c.Spec)

	long := claimPod()
	long.Name = strings.Repeat("p", 60)
	require.Equal(t, strings.Repeat("p", 41)+"-"+strings.Repeat("e", 13), devices.ClaimFromTemplate(long, strings.Repeat("e", 20), template, "").Name,
		"82 bytes become 57: each part in proportion")
}

func TestClaimHint(t *testing.T) {
	waiting := claimPod(v1.PodResourceClaimStatus{Name: "b"})
	mine, other := gpuClaim("web", 1), gpuClaim("other", 1)
	mine.UID, other.UID = "web-uid", "other-uid"
	allocated := func(c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
		c = c.DeepCopy()
		c.Status.Allocation = boundClaim().Status.Allocation
		return c
	}
	all := world{"web": mine, "other": other}
	type test struct {
		name, why string
		claims    world
		old, new  *resourcev1.ResourceClaim
		want      bool
	}
	testkit.Run(t, []test{
		{"the claim is missing", "the pod waits for its claim", world{}, allocated(other), other, false},
		{"another claim is freed", "its devices are free", all, allocated(other), other, true},
		{"another claim is deleted", "its devices are free", all, allocated(other), nil, true},
		{"a claim is deleted and the own one is missing", "the deletion counts first", world{}, allocated(other), nil, true},
		{"a claim without devices is deleted", "nothing is free", all, other, nil, false},
		{"another claim is added", "the pod does not use it", all, nil, other, false},
		{"the claim is added", "the pod waited for it", all, nil, mine, true},
		{"the status stays", "nothing that the pod needs changed", all, mine, mine.DeepCopy(), false},
		{"the status changes", "the claim has an allocation", all, mine, allocated(mine), true},
	}, func(t *testing.T, c test) {
		var before, after any
		if c.old != nil {
			before = c.old
		}
		if c.new != nil {
			after = c.new
		}
		got, err := hints.Claim(c.claims, release.V1_37)(waiting, before, after)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	})
	for _, v := range []release.Version{release.V1_34, release.V1_35, release.V1_36} {
		helps, err := hints.Claim(all, v)(waiting, allocated(other), nil)
		require.NoError(t, err)
		require.False(t, helps, "before v1.37 a deletion helps nobody (rule L7.16)")
	}
	_, err := hints.Claim(all, release.V1_37)(waiting, nil, waiting)
	require.Error(t, err, "a pod is no claim")
	for _, claim := range []*resourcev1.ResourceClaim{mine, other} {
		helps, err := hints.Claim(all, release.V1_37)(user("p", "web", "other"), nil, claim)
		require.NoError(t, err)
		require.True(t, helps, "the pod uses both claims")
	}
	helps, err := hints.Pod(all)(waiting, nil, mine)
	require.Error(t, err, "a claim is no pod")
	require.False(t, helps)
	stranger := claimPod(v1.PodResourceClaimStatus{Name: "b"})
	stranger.UID = "stranger"
	helps, err = hints.Pod(all)(waiting, nil, stranger)
	require.NoError(t, err)
	require.False(t, helps, "another pod")

	ready, err := hints.Pod(all)(waiting, claimPod(), waiting)
	require.NoError(t, err)
	require.True(t, ready, "the pod's update completes its claims")
	ready, err = hints.Pod(world{})(waiting, claimPod(), waiting)
	require.NoError(t, err)
	require.False(t, ready, "the claim web is missing")
}

// A pod without a suitable node gives back the claim whose allocation keeps the pod from every node.
func TestRelease(t *testing.T) {
	pod := claimPod(v1.PodResourceClaimStatus{Name: "b"})
	claim := boundClaim()
	claim.Status.Allocation.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"gone"}}},
	}}}
	shared := claim.DeepCopy()
	shared.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "other", UID: "other-uid"}}
	type test struct {
		name, why  string
		claim      *resourcev1.ResourceClaim
		deallocate bool
		want       string
	}
	testkit.Run(t, []test{
		{"unused", "nobody needs the allocation", claim, true, "deallocation of ResourceClaim completed"},
		{"in use", "another pod uses the devices", shared, false, "still not schedulable"},
	}, func(t *testing.T, c test) {
		ledger := devices.NewLedger(devices.NewInventory(nil), c.claim)
		compiled := devices.Compile(pod, world{"web": c.claim}, nil)
		state := compiled.Onto(testkit.NewCluster([]*v1.Node{testkit.Node("n1").Obj()}, nil), devices.NewAllocator(ledger, class, nil, devices.Options{}), devices.Clock{Now: noon})
		require.Equal(t, []string{"resourceclaim not available on the node"}, state.Reasons(state.Check(0)))
		release := state.Freed()
		require.Equal(t, c.want, release.Reason)
		require.Equal(t, c.deallocate, release.Deallocate == c.claim)
	})
}

// U-111: the best raw score becomes 100.
func TestNormalize(t *testing.T) {
	s := devices.Compile(claimPod(), world{}, nil).Onto(testkit.NewCluster(nil, nil), devices.NewAllocator(devices.NewLedger(devices.NewInventory(nil)), class, nil, devices.Options{}), devices.Clock{})
	for raw, want := range map[int64]int64{8: 100, 7: 87, 6: 75, 0: 0} {
		require.Equal(t, want, s.Normalize(raw, 0, 8), raw)
	}
	require.Zero(t, s.Normalize(0, 0, 0), "without firstAvailable every node has 0")
}
