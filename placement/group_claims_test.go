package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

// groupOfClaims is a cluster with node n1 and two devices, and a gang of two with the claim shared.
func groupOfClaims(t *testing.T, devices int, minimum int32, on bool, nodes ...*v1.Node) (*cluster.Snapshot, *Placer) {
	t.Helper()
	group := &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "uid-g"}, Claims: []podgroup.Claim{{Name: "shared", ClaimName: "shared"}}}
	group.Minimum = &minimum
	s, err := cluster.New(cluster.Objects{Nodes: append(nodes, testkit.Node("n1").Capacity("cpu=8").Obj()), PodGroups: []*podgroup.Group{group}})
	require.NoError(t, err)
	for _, obj := range []metav1.Object{gpuSlice("n1", devices), gpuClass(""), gpuClaim("shared", 1), gpuClaim("own", 1)} {
		require.NoError(t, s.Set(obj))
	}
	p, err := NewPlacer(s, PluginArgs{Devices: tracker.Options{GroupClaims: on}}.Profile())
	require.NoError(t, err)
	return s, p
}

func memberOf(name string, claims ...string) *v1.Pod {
	pod := claiming(testkit.Pod(name).Request("cpu=1").Obj(), claims...)
	group := "g"
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	return pod
}

func claimOf(t *testing.T, s *cluster.Snapshot, name string) *resourcev1.ResourceClaim {
	t.Helper()
	c, ok := cluster.List[*resourcev1.ResourceClaim](s).Get("default", name)
	require.True(t, ok)
	return c
}

func consumers(c *resourcev1.ResourceClaim) (out []string) {
	for _, r := range c.Status.ReservedFor {
		out = append(out, r.Resource+" "+r.Name)
	}
	return out
}

// E85, E86, E87: a claim that a member has from its group under the same name is reserved for the group, and every other claim for the pod.
// Later members of one decision use what the first has allocated. What the last member leaves is free again.
func TestGroupClaims(t *testing.T) {
	type test struct {
		name, why   string
		on          bool
		second      func(*v1.Pod)
		shared, own []string
	}
	testkit.Run(t, []test{
		{"E85", "one reservation of the group serves both members", true, func(*v1.Pod) {}, []string{"podgroups g"}, []string{"pods b"}},
		{"E86", "under another name the claim is the pod's, and then the group's too", true, func(b *v1.Pod) { b.Spec.ResourceClaims[0].Name = "other" }, []string{"pods b", "podgroups g"}, []string{"pods b"}},
		{"E87", "without the gate the members share it as pods do", false, func(*v1.Pod) {}, []string{"pods a", "pods b"}, []string{"pods b"}},
	}, func(t *testing.T, c test) {
		s, p := groupOfClaims(t, 2, 2, c.on)
		a, b := memberOf("a", "shared"), memberOf("b", "shared", "own")
		c.second(b)
		first, last := a, b
		if c.name == "E86" {
			first, last = b, a
		}
		d := p.DecideGroup([]*v1.Pod{first, last}, GroupOptions{Gates: podgroup.Gates{Claims: c.on}})
		require.Equal(t, filter.Success, d.Code)
		require.Nil(t, claimOf(t, s, "shared").Status.Allocation, "a decision changes nothing")
		require.NoError(t, p.AssumeGroup(d))
		require.Equal(t, c.shared, consumers(claimOf(t, s, "shared")))
		require.Equal(t, c.own, consumers(claimOf(t, s, "own")))
		require.NoError(t, p.Forget(first))
		require.NotNil(t, claimOf(t, s, "shared").Status.Allocation, "the other member uses it")
		require.NoError(t, p.Forget(last))
		require.Nil(t, claimOf(t, s, "shared").Status.Allocation)
		require.Nil(t, claimOf(t, s, "own").Status.Allocation)
		require.Empty(t, consumers(claimOf(t, s, "shared")))
	})
}

// E88: two claims want the one device; a shared claim binds the members to the node of its device.
func TestGroupClaimsWithoutRoom(t *testing.T) {
	s, p := groupOfClaims(t, 1, 2, true)
	d := p.DecideGroup([]*v1.Pod{memberOf("a", "shared"), memberOf("b", "own")}, GroupOptions{Gates: podgroup.Gates{Claims: true}})
	require.Equal(t, filter.Unschedulable, d.Code)
	require.Equal(t, "0/1 nodes are available: 1 cannot allocate all claims.", d.Members[1].Text)
	require.Nil(t, claimOf(t, s, "shared").Status.Allocation)

	_, p = groupOfClaims(t, 1, 2, true, testkit.Node("n2").Capacity("cpu=8").Obj())
	big := memberOf("b", "shared")
	big.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("8")
	d = p.DecideGroup([]*v1.Pod{memberOf("a", "shared"), big}, GroupOptions{Gates: podgroup.Gates{Claims: true}})
	require.Equal(t, "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node.", d.Members[1].Text)
}

// PG8.2, PG8.3: a claim that is reserved for the group serves its members, and a claim that the group owns too; other pods it does not.
func TestClaimsOfTheGroup(t *testing.T) {
	owned := func(by string) *v1.Pod {
		pod := memberOf("a")
		template, name := "template", "made"
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "shared", ResourceClaimTemplateName: &template}}
		pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "shared", ResourceClaimName: &name}}
		if by == "" {
			pod.Spec.SchedulingGroup = nil
		}
		return pod
	}
	made := gpuClaim("made", 1)
	yes := true
	made.OwnerReferences = []metav1.OwnerReference{{APIVersion: "scheduling.k8s.io/v1beta1", Kind: "PodGroup", Name: "g", UID: "uid-g", Controller: &yes}}
	s, p := groupOfClaims(t, 1, 1, true)
	require.NoError(t, s.Set(made))
	require.True(t, p.Decide(owned("g"), Options{}).Placed())
	require.Equal(t, "0/1 nodes are available: ResourceClaim default/made was not created for Pod default/a (Pod is not owner).", p.Decide(owned(""), Options{}).Failure.Text())
	other := made.DeepCopy()
	other.OwnerReferences[0].UID = "other"
	require.NoError(t, s.Set(other))
	require.Equal(t, "0/1 nodes are available: ResourceClaim default/made was not created for Pod default/a (neither Pod nor PodGroup g is the owner).", p.Decide(owned("g"), Options{}).Failure.Text())

	_, p = groupOfClaims(t, 1, 1, false)
	require.NoError(t, p.snapshot.Set(made))
	require.Contains(t, p.Decide(owned("g"), Options{}).Failure.Text(), "(Pod is not owner)", "without the gate")
}
