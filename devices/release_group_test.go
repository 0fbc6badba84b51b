package devices_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

// far is a claim with an allocation on another node than n1, near one on n1; reserved for these names.
func far(name string, by ...string) *resourcev1.ResourceClaim  { return heldOn(name, "n2", by...) }
func near(name string, by ...string) *resourcev1.ResourceClaim { return heldOn(name, "n1", by...) }

func heldOn(name, node string, by ...string) *resourcev1.ResourceClaim {
	c := gpuClaim(name, 1)
	c.UID = types.UID(name)
	c.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
	for _, b := range by {
		r := resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: b, UID: types.UID(b)}
		if b == "g" || b == "g before" {
			r.APIGroup, r.Resource, r.Name = "scheduling.k8s.io", "podgroups", "g"
		}
		c.Status.ReservedFor = append(c.Status.ReservedFor, r)
	}
	return c
}

// owned is a claim that the group controls.
func owned(c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	yes := true
	c.OwnerReferences = []metav1.OwnerReference{{Kind: "PodGroup", Name: "g", UID: "g", Controller: &yes}}
	return c
}

func unallocated(c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	c.Status.Allocation = nil
	return c
}

// memberOf is a member that was asked about n1; its claims are those of the names.
func memberOf(name string, w world, claims ...string) devices.Member {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	for _, c := range claims {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: c, ResourceClaimName: &c})
	}
	if len(claims) == 0 {
		return devices.Member{Pod: pod}
	}
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(nil)), class, nil, devices.Options{})
	s := devices.Compile(pod, w, nil).Onto(testkit.NewCluster([]*v1.Node{testkit.Node("n1").Obj()}, nil), allocator, devices.Clock{Now: noon})
	s.Check(0)
	return devices.Member{Pod: pod, State: s}
}

// What an unschedulable group gives back. placement.TestGroupRelease has the examples that were asked of v1.37.2.
func TestReleaseGroup(t *testing.T) {
	last := func(n int) int { return n - 1 }
	made, none := "made", ""
	type test struct {
		name, why   string
		claims      []*resourcev1.ResourceClaim
		members     [][]string
		group       []podgroup.Claim // nil: no group
		tie         func(int) int
		want, error string
	}
	x := []podgroup.Claim{{Name: "x", ClaimName: "x"}}
	testkit.Run(t, []test{
		{"nobody's", "a claim that is reserved for nobody", []*resourcev1.ResourceClaim{far("x")}, [][]string{{"x"}}, nil, nil, "x: " + podgroup.TextClaims, ""},
		{"its own", "a claim that is reserved for the member alone", []*resourcev1.ResourceClaim{far("x", "m0")}, [][]string{{"x"}}, nil, nil, "x: " + podgroup.TextClaims, ""},
		{"beside another", "a claim that is reserved for another pod too", []*resourcev1.ResourceClaim{far("x", "m0", "other")}, [][]string{{"x"}}, nil, nil, ": " + podgroup.TextClaims, ""},
		{"another's", "a claim of another pod", []*resourcev1.ResourceClaim{far("x", "other")}, [][]string{{"x"}}, x, nil, ": " + podgroup.TextClaims, ""},
		{"on the node", "a claim that is in nobody's way", []*resourcev1.ResourceClaim{near("x")}, [][]string{{"x"}}, x, nil, ": " + podgroup.TextClaims, ""},
		{"first", "the first of two", []*resourcev1.ResourceClaim{far("x"), far("y")}, [][]string{{"x", "y"}}, nil, nil, "x: " + podgroup.TextClaims, ""},
		{"tie", "the other of two", []*resourcev1.ResourceClaim{far("x"), far("y")}, [][]string{{"x", "y"}}, nil, last, "y: " + podgroup.TextClaims, ""},
		{"each", "one of each member", []*resourcev1.ResourceClaim{far("x"), far("y")}, [][]string{{"x"}, {"y"}}, x, nil, "x,y: " + podgroup.TextClaims, ""},
		{"the group's", "a claim that is reserved for the group alone, of the second member", []*resourcev1.ResourceClaim{far("x", "g")}, [][]string{{}, {"x"}}, x, nil, "x: " + podgroup.TextDeallocated, ""},
		{"no group", "without the gate, or with a member on a node", []*resourcev1.ResourceClaim{far("x", "g")}, [][]string{{"x"}}, nil, nil, ": " + podgroup.TextClaims, ""},
		{"nobody idle", "each member gave something back", []*resourcev1.ResourceClaim{far("x", "g"), far("y")}, [][]string{{"x", "y"}}, x, nil, "y: " + podgroup.TextClaims, ""},
		{"twice", "two members give back one claim", []*resourcev1.ResourceClaim{far("x")}, [][]string{{"x"}, {"x"}}, nil, nil, "x: ",
			`Operation cannot be fulfilled on resourceclaims.resource.k8s.io "x": the object has been modified; please apply your changes to the latest version and try again`},
		{"reservation", "the group's reservation", []*resourcev1.ResourceClaim{near("x", "g")}, [][]string{{}}, x, nil, "-x: " + podgroup.TextUnreserved, ""},
		{"no reservation", "the group has none", []*resourcev1.ResourceClaim{near("x", "other")}, [][]string{{}}, x, nil, ": " + podgroup.TextClaims, ""},
		{"by name", "the reservation of a group of that name", []*resourcev1.ResourceClaim{near("x", "g before")}, [][]string{{}}, x, nil, "-x: " + podgroup.TextUnreserved, ""},
		{"reserved alone", "a reservation without devices", []*resourcev1.ResourceClaim{unallocated(near("x", "g"))}, [][]string{{}}, x, nil, ": " + podgroup.TextClaims, ""},
		{"one choice", "nobody is asked", []*resourcev1.ResourceClaim{far("x"), near("y")}, [][]string{{"x", "y"}}, nil, func(int) int { panic("one claim") }, "x: " + podgroup.TextClaims, ""},
		{"no allocation", "a claim without devices", []*resourcev1.ResourceClaim{gpuClaim("x", 1), near("y", "g")}, [][]string{{}}, append(x, podgroup.Claim{Name: "y", ClaimName: "y"}), nil, "-y: " + podgroup.TextUnreserved, ""},
		{"template", "a claim that the group owns", []*resourcev1.ResourceClaim{owned(near("made", "g"))}, [][]string{{}}, []podgroup.Claim{{Name: "t", TemplateName: "t", Generated: &made}}, nil, "-made: " + podgroup.TextUnreserved, ""},
		{"foreign", "a claim that the group does not own", []*resourcev1.ResourceClaim{near("made", "g")}, [][]string{{}}, []podgroup.Claim{{Name: "t", TemplateName: "t", Generated: &made}}, nil, ": " + podgroup.TextClaims, ""},
		{"none needed", "no claim is needed", nil, [][]string{{}}, []podgroup.Claim{{Name: "t", TemplateName: "t", Generated: &none}}, nil, ": " + podgroup.TextClaims, ""},
		{"not made", "the controller is not there yet", nil, [][]string{{}}, []podgroup.Claim{{Name: "t", TemplateName: "t"}}, nil, ": " + podgroup.TextClaims, "PodGroup default/g: ResourceClaim not created yet"},
		{"missing", "there is no such claim", nil, [][]string{{}}, x, nil, ": " + podgroup.TextClaims, `could not find ResourceClaim "default/x"`},
	}, func(t *testing.T, c test) {
		w := world{}
		for _, claim := range c.claims {
			w[claim.Name] = claim
		}
		var members []devices.Member
		for k, claims := range c.members {
			members = append(members, memberOf("m"+string(rune('0'+k)), w, claims...))
		}
		var group *podgroup.Group
		if c.group != nil {
			group = &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "g"}, Claims: c.group}
		}
		r, err := devices.FreeGroup(members, group, w, c.tie)
		if c.error != "" {
			require.EqualError(t, err, c.error, c.why)
		} else {
			require.NoError(t, err, c.why)
		}
		var names []string
		for _, d := range r.Deallocate {
			names = append(names, d.Name)
		}
		if r.Unreserve != nil {
			names = append(names, "-"+r.Unreserve.Name)
		}
		require.Equal(t, c.want, strings.Join(names, ",")+": "+r.Reason, c.why)
		require.Empty(t, r.Delete)
	})
}

// A special claim that an earlier attempt created goes, and the member has then given something back.
func TestReleaseGroupSpecial(t *testing.T) {
	name := "example.com/gpu"
	gpu := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: &name}}
	pod := testkit.Pod("m0").Request(name + "=1").Obj()
	pod.UID = "m0"
	yes := true
	special := gpuClaim("special", 1)
	special.UID, special.Annotations = "special", map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
	special.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "m0", UID: "m0", Controller: &yes}}
	w := world{"special": special, "x": near("x", "g")}
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(nil)), class, nil, devices.Options{})
	s := devices.Compile(pod, w, devices.NewExtendedResources(slices.Values([]*resourcev1.DeviceClass{gpu}))).Onto(testkit.NewCluster([]*v1.Node{testkit.Node("n1").Obj()}, nil), allocator, devices.Clock{Now: noon})
	s.Check(0)
	group := &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "g"}, Claims: []podgroup.Claim{{Name: "x", ClaimName: "x"}}}
	r, err := devices.FreeGroup([]devices.Member{{Pod: pod, State: s}}, group, w, nil)
	require.NoError(t, err)
	require.Equal(t, []*resourcev1.ResourceClaim{special}, r.Delete)
	require.Nil(t, r.Unreserve, "nobody is idle")
}
