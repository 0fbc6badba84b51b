package placement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

// written is what the claims are after the writes of a release, as "NAME" or "NAME@ N": allocated with n reservations.
func written(s *cluster.Snapshot, r devices.GroupFreed) string {
	var out []string
	for c := range cluster.List[*resourcev1.ResourceClaim](s).All() {
		switch {
		case slices.ContainsFunc(r.Deallocate, func(x *resourcev1.ResourceClaim) bool { return x.Name == c.Name }):
			c = devices.Deallocated(c)
		case r.Unreserve != nil && r.Unreserve.Name == c.Name:
			c = devices.Unreserved(c, "uid-g")
		}
		line := c.Name
		if c.Status.Allocation != nil {
			line = fmt.Sprintf("%s@%d", c.Name, len(c.Status.ReservedFor))
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// The examples were asked of v1.37.2. at= is the only node of a member.
func TestGroupRelease(t *testing.T) {
	const (
		each   = podgroup.TextClaims
		free   = podgroup.TextDeallocated
		unres  = podgroup.TextUnreserved
		stale  = `error in "DynamicResources" PodGroupPostFilter plugins: Operation cannot be fulfilled on resourceclaims.resource.k8s.io "c1": the object has been modified; please apply your changes to the latest version and try again`
		failed = `error in "DynamicResources" PodGroupPostFilter plugins: `
	)
	type test struct{ name, why, world, want, left string }
	testkit.Run(t, []test{
		{"E98", "the group's claim is on a node that the members may not use", "gates=D; group g gang2 ^10 claim=x=c1; claim c1 on=n2 for=g; pod a:1 in=g ^10 at=n1 claim=x=c1; pod b:1 in=g ^10 at=n1 claim=x=c1", free, "c1"},
		{"placed", "a claim keeps a member that found a node from another node", "group g gang2 ^10; claim c1 on=n2; pod a:1 in=g ^10 claim=x=c1; pod b:9 in=g ^10", each, "c1"},
		{"each member", "each member gives back one claim", "group g gang1 ^10; claim c1 on=n2; claim c2 on=n2; pod a:1 in=g ^10 at=n1 claim=x=c1; pod b:1 in=g ^10 at=n1 claim=x=c2", each, "c1 c2"},
		{"two claims", "a member gives back the first of its claims", "group g gang1 ^10; claim c1 on=n2; claim c2 on=n2; pod a:1 in=g ^10 at=n1 claim=x=c1 claim=y=c2", each, "c1 c2@0"},
		{"another pod", "a claim of another pod stays", "gates=D; group g gang1 ^10 claim=x=c1; claim c1 on=n2 for=other; pod a:1 in=g ^10 at=n1 claim=x=c1", each, "c1@1"},
		{"unreserved", "the claim is not in the way: the group gives up its reservation and does not preempt", "gates=D; group g gang2 ^10 claim=x=c1; claim c1 on=n1 for=g; pod a:1 in=g ^10 at=n1 claim=x=c1; pod b:9 in=g ^10 at=n1 claim=x=c1", "ALONE " + unres, "c1@0"},
		{"not reserved", "there is nothing to give back", "gates=D; group g gang2 ^10 claim=x=c1; claim c1 on=n1; pod a:1 in=g ^10 at=n1 claim=x=c1; pod b:9 in=g ^10 at=n1 claim=x=c1", each, "c1@0"},
		{"reserved twice", "the reservation of another pod stays", "gates=D; group g gang2 ^10 claim=x=c1; claim c1 on=n1 for=g,other; pod a:1 in=g ^10 at=n1 claim=x=c1; pod b:9 in=g ^10 at=n1 claim=x=c1", "ALONE " + unres, "c1@1"},
		{"second of the group", "the claim in the way is given back, whichever it is", "gates=D; group g gang1 ^10 claim=x=c1 claim=y=c2; claim c1 on=n1 for=g; claim c2 on=n2 for=g; pod a:1 in=g ^10 at=n1 claim=x=c1 claim=y=c2", free, "c1@1 c2"},
		{"own first", "a member that gives back its own claim leaves the group's alone", "gates=D; group g gang1 ^10 claim=x=c1; claim c1 on=n2 for=g; claim own on=n2; pod a:1 in=g ^10 at=n1 claim=o=own claim=x=c1", each, "c1@1 own"},
		{"own twice", "v1.37 gives back the same claim again for another member, and the API server refuses", "gates=D; group g gang1 ^10 claim=x=c2; claim c1 on=n2; claim c2 on=n2 for=g; pod a:1 in=g ^10 at=n1 claim=o=c1 claim=x=c2; pod b:9 in=g ^10 at=n1", stale, "c1 c2@1"},
		{"shared", "two members give back one claim", "group g gang1 ^10; claim c1 on=n2; pod a:1 in=g ^10 at=n1 claim=x=c1; pod b:1 in=g ^10 at=n1 claim=x=c1", stale, "c1"},
		{"of this decision", "what one member takes in memory is in the way of the other, which gives it back, twice", "gates=D; group g gang2 ^10 claim=x=c1; claim c1; pod a:1 in=g ^10 at=n1 claim=x=c1; pod b:1 in=g ^10 at=n2 claim=x=c1", stale, "c1"},
		{"order", "claims count in the order of the pod", "gates=D; group g gang1 ^10 claim=x=c1 claim=y=c2; claim c1 on=n2 for=g; claim c2 on=n2 for=g; pod a:1 in=g ^10 at=n1 claim=y=c2 claim=x=c1", free, "c1@1 c2"},
		{"order of members", "the first member's claim counts", "gates=D; group g gang1 ^10 claim=x=c1 claim=y=c2; claim c1 on=n2 for=g; claim c2 on=n2 for=g; pod a:1 in=g ^10 at=n1 claim=y=c2; pod b:1 in=g ^10 at=n1 claim=x=c1", free, "c1@1 c2"},
		{"in the way for two", "a claim in the way that another pod has too loses the group's reservation", "gates=D; group g gang1 ^10 claim=x=c1; claim c1 on=n2 for=g,other; pod a:1 in=g ^10 at=n1 claim=x=c1", "ALONE " + unres, "c1@1"},
		{"scheduled member", "a member on a node uses the claim", "gates=D; group g gang2 ^10 claim=x=c1; claim c1 on=n2 for=g; pod a:1 in=g ^10 at=n1 claim=x=c1; pod w:1 on=n2 in=g ^10", each, "c1@1"},
		{"gate off", "without the gate no claim is the group's", "group g gang1 ^10 claim=x=c1; claim c1 on=n2 for=g; pod a:1 in=g ^10 at=n1 claim=x=c1", each, "c1@1"},
		{"another name in the pod", "what counts is who has reserved the claim", "gates=D; group g gang1 ^10 claim=x=c1; claim c1 on=n2 for=g; pod a:1 in=g ^10 at=n1 claim=other=c1", free, "c1"},
		{"UID", "a claim is given back by the UID of its reservation", "gates=D; group g gang1 ^10 claim=x=c1; claim c1 on=n2 for=gg; pod a:1 in=g ^10 at=n1 claim=x=c1", free, "c1"},
		{"name", "a reservation is found by its name, and taken away by its UID", "gates=D; group g gang1 ^10 claim=x=c1; claim c1 on=n2 for=g'; pod a:1 in=g ^10 at=n1 claim=x=c1", "ALONE " + unres, "c1@1"},
		{"name of a stranger", "the name must be the group's to unreserve", "gates=D; group g gang1 ^10 claim=x=c1; claim c1 on=n1 for=gg; pod b:9 in=g ^10 at=n1", each, "c1@1"},
		{"no claims", "the group's claim counts for members without claims", "gates=D; group g gang1 ^10 claim=x=c1; claim c1 on=n2 for=g; pod b:9 in=g ^10 at=n1", "ALONE " + unres, "c1@0"},
		{"missing", "a claim of the group does not exist", "gates=D; group g gang1 ^10 claim=w=none claim=x=c1; claim c1 on=n1 for=g; pod b:9 in=g ^10 at=n1 claim=x=c1", failed + `could not find ResourceClaim "d/none"`, "c1@1"},
		{"missing later", "claims after the first that is given up do not count", "gates=D; group g gang1 ^10 claim=x=c1 claim=w=none; claim c1 on=n1 for=g; pod b:9 in=g ^10 at=n1 claim=x=c1", "ALONE " + unres, "c1@0"},
		{"missing beside one in the way", "what is in the way comes first", "gates=D; group g gang1 ^10 claim=w=none claim=x=c1; claim c1 on=n2 for=g; pod a:1 in=g ^10 at=n1 claim=x=c1", free, "c1"},
		{"not made", "the controller has not made the claim of a template", "gates=D; group g gang1 ^10 template=t claim=x=c1; claim c1 on=n1 for=g; pod b:9 in=g ^10 at=n1 claim=x=c1", failed + "PodGroup d/g: ResourceClaim not created yet", "c1@1"},
		{"none needed", "a template needs no claim", "gates=D; group g gang1 ^10 template=t= claim=x=c1; claim c1 on=n1 for=g; pod b:9 in=g ^10 at=n1 claim=x=c1", "ALONE " + unres, "c1@0"},
		{"made", "a claim from a template belongs to the group", "gates=D; group g gang1 ^10 template=t=c1; claim c1 on=n1 for=g owner=g; pod b:9 in=g ^10 at=n1", "ALONE " + unres, "c1@0"},
		{"another owner", "a claim of that name belongs to somebody else", "gates=D; group g gang1 ^10 template=t=c1; claim c1 on=n1 for=g; pod b:9 in=g ^10 at=n1", each, "c1@1"},
		{"not allocated", "a claim without devices is passed over", "gates=D; group g gang1 ^10 claim=w=c0 claim=x=c1; claim c0; claim c1 on=n1 for=g; pod b:9 in=g ^10 at=n1 claim=x=c1", "ALONE " + unres, "c0 c1@0"},
	}, func(t *testing.T, c test) {
		world, s, p, o := groupSnapshot(t, "node n1:4; node n2:4; devices n1:3; pod v:1 on=n2 ^1; "+strings.ReplaceAll(c.world, "at=", "select=kubernetes.io/hostname="))
		before := written(s, devices.GroupFreed{})
		d := p.DecideGroup(world.Queued, o)
		require.Len(t, d.Groups, 1)
		got := d.Groups[0].Message
		want, alone := strings.CutPrefix(c.want, "ALONE ")
		switch {
		case strings.HasPrefix(want, "error"):
			require.Equal(t, want, got, c.why)
		case alone:
			require.True(t, strings.HasSuffix(got, " remaining, "+want), "%s: %s", c.why, got)
		default:
			quorum, rest, _ := strings.Cut(got, ", "+want)
			require.Equal(t, ", "+podgroup.TextPreemption+quorum, rest, "%s: %s", c.why, got)
		}
		require.Equal(t, before, written(s, devices.GroupFreed{}), "a decision changes nothing")
		require.Equal(t, c.left, written(s, d.Claims), c.why)
	})
}

// PG8.4a: members of one group share a claim, members of another group of the tree wait for it.
func TestClaimOfASibling(t *testing.T) {
	world, s, p, o := groupSnapshot(t, `gates=C; node n0:4; devices n0:2; claim c2; composite job gang1; group x basic parent=job; group y basic parent=job;
		pod a,a2:1 in=x claim=x=c2; pod b:1 in=y claim=x=c2`)
	d := p.DecideGroup(world.Queued, o)
	require.Equal(t, `a -> n0
a2 -> n0
b: 0/1 nodes are available: resource claim d/c2 is in the process of being allocated.
x True
y: pod group is unschedulable, 0/1 placements are available, first placement status: minCount (1) cannot be satisfied: 0 scheduled, 0 remaining`, shown(d))
	require.Equal(t, "c2", written(s, devices.GroupFreed{}), "a decision changes nothing")
	require.NoError(t, p.AssumeGroup(d))
	require.Equal(t, "c2@2", written(s, devices.GroupFreed{}))
}
