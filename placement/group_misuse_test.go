package placement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/situation"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// Bad input loses nothing: every queued pod gets an outcome, and the decision an error that callers can test for.
func TestGroupBadInput(t *testing.T) {
	type test struct {
		name, why, world, want string
		err                    error
	}
	const counts = `running PlacementScore plugins: plugin "PodGroupPodsCount" failed with: no pods from pod group are assigned to any of the candidate placements`
	const other, same = "failed to schedule other pod from a pod group: ", `pods: Duplicate value: "d/a": the pod is on node "n1"`
	nobody, twice := "a ERR "+counts+"|g ERR "+counts, "a ERR "+other+same+"|a ERR "+same+"|g ERR "+other+same
	testkit.Run(t, []test{
		{"no object", "the pods wait for their group", "node n1:4; pod a,b:1 in=g", "a ERR pod group d/g: no object of the group|b ERR pod group d/g: no object of the group", podgroup.ErrNoObject},
		{"no parent", "the pods wait for the parent of their group", "gates=C; node n1:4; group g gang1 parent=job; pod a:1 in=g", "a ERR composite pod group d/job: no object of the group", podgroup.ErrNoObject},
		{"cycle", "composites that are each other's parent", "gates=C; node n1:4; composite p basic parent=q; composite q basic parent=p; group g gang1 parent=p; pod a:1 in=g", "a ERR composite pod group d/p: the parents of the group are a cycle", podgroup.ErrCycle},
		{"two groups", "without composites a decision is about one group", "node n1:4; group g gang1; group h gang1; pod a:1 in=g; pod b:1 in=h", "a ERR pod d/b: the pods are not members of one group|b ERR pod d/b: the pods are not members of one group|g ERR pod d/b: the pods are not members of one group", placement.ErrNoGroup},
		{"no group", "a pod alone", "node n1:4; group g gang1; pod a:1 in=", "a ERR pod group d/: no object of the group", podgroup.ErrNoObject},
		{"minimum 0", "a gang of none has enough, but a root needs a new member", "node n1:4; group g gang0; pod a:9 in=g", "a: FIT(1)|g: GU, NOVIC", nil},
		{"huge minimum", "it does not overflow", "node n1:4; group g gang2147483647; pod a:1 in=g; pod b:1 in=g", "a ERR DRA|b ERR DRA|g ERR DRA", nil},
		{"unknown key", "a key that no node has", "gates=T; node n1:4; group g gang1 key=rack; pod a:1 in=g", "a: no feasible placements found|g: no feasible placements found, NOVIC", nil},
		{"nobody in any placement", "a gang of none fits everywhere, and no placement has more members", "gates=T; node a1:1 zone=a; node b1:1 zone=b; group g gang0 key=zone; pod a:9 in=g", nobody, nil},
		{"a pod twice", "the second is on a node already", "node n1:4; group g gang2; pod a:1 in=g; pod a:1 in=g", twice, nil},
		{"all terminating", "nobody is left to decide about", "node n1:4; group g gang1; pod a,b:1 in=g terminating", "a dropped|b dropped", nil},
	}, func(t *testing.T, c test) {
		s, placer, o := groupWorld(t, c.world)
		d := placer.DecideGroup(s.Queued, o)
		require.Equal(t, long(lines(c.want)), shown(d))
		require.ErrorIs(t, d.Err, c.err)
		require.Len(t, d.Members, len(s.Queued))
		require.NoError(t, placer.AssumeGroup(d), "a decision without a node assumes nobody")
	})
}

// A decision is assumed as a whole or not at all.
func TestAssumeGroupAllOrNothing(t *testing.T) {
	s, placer, o := groupWorld(t, "node n1:4; group g gang2; pod a,b:1 in=g")
	d := placer.DecideGroup(s.Queued, o)
	require.Equal(t, filter.Success, d.Code)
	taken := s.Queued[1].DeepCopy()
	require.NoError(t, placer.Assume(taken, d.Members[1].Decision))
	require.Error(t, placer.AssumeGroup(d), "b is on a node already")
	require.NoError(t, placer.Forget(taken))
	require.NoError(t, placer.AssumeGroup(d), "a was not left behind")
	require.Error(t, placer.AssumeGroup(d))
	require.NoError(t, placer.Forget(s.Queued[0]))
	require.NoError(t, placer.Forget(s.Queued[1]))
}

// A member that cannot be put on its node says why, how many nodes there are, and where the search ended.
func TestGroupMemberTwice(t *testing.T) {
	var world strings.Builder
	for k := range 150 {
		fmt.Fprintf(&world, "node n%03d:4\n", k)
	}
	s, snapshot, _, o := groupSnapshot(t, world.String()+"group g gang2\npod a:1 in=g\npod a:1 in=g")
	profile := placement.DefaultProfile()
	profile.Sampling.Percentage = new(int32(10)) // 100 nodes
	placer, err := placement.NewPlacer(snapshot, profile)
	require.NoError(t, err)
	d := placer.DecideGroup(s.Queued, o).Members[1].Decision
	require.ErrorContains(t, d.Failure.Err, "Duplicate value")
	require.Equal(t, filter.Error, d.Failure.Code)
	d.Failure = nil
	require.Equal(t, placement.Decision{Slot: -1, Nodes: 150, Next: 50}, d)
}

// A plugin hears of every member, also of one that a plugin rejected before any node, and of the predicates that were asked about the nodes.
func TestGroupMembersHeard(t *testing.T) {
	s, snapshot, _, o := groupSnapshot(t, "node n1:4; group g gang1; pod a:1 in=g; pod b:9 in=g")
	profile, heard := s.Profile(), map[string]int{}
	profile.Filters = append(slices.Clone(profile.Filters), &placement.Plugin{
		Name: "Hears", Keep: placement.KeepNothing,
		Filter: func(pod *v1.Pod, _ placement.Cluster) placement.PreFiltered {
			if pod.Name == "a" {
				return placement.PreFiltered{Code: filter.Unschedulable, Reasons: []string{"refused"}}
			}
			return placement.PreFiltered{Code: filter.Skip}
		},
		GroupPostFilter: func(f placement.GroupFailure) (placement.GroupAnswer, error) {
			for _, m := range f.Members {
				heard[m.Pod.Name] = len(m.Predicates)
			}
			return placement.GroupAnswer{}, nil
		},
	})
	placer, err := placement.NewPlacer(snapshot, profile)
	require.NoError(t, err)
	require.Equal(t, filter.Unschedulable, placer.DecideGroup(s.Queued, o).Code)
	require.Len(t, heard, 2)
	require.NotZero(t, heard["b"])
}

// The order of placements and ties is the caller's.
func TestGroupChoices(t *testing.T) {
	s, placer, o := groupWorld(t, "gates=T; node a1:1 zone=a; node b1:1 zone=b; node c1:9; group g gang1 key=zone; pod p:1 in=g")
	o.Tie = func(n int) int { return n - 1 }
	require.Equal(t, "b1", placer.DecideGroup(s.Queued, o).Members[0].Node)
	o.Tie = nil
	require.Equal(t, "a1", placer.DecideGroup(s.Queued, o).Members[0].Node)
	o.Order = func(int) []int { return []int{1, 0} }
	require.Equal(t, "b1", placer.DecideGroup(s.Queued, o).Members[0].Node)
}

// Without Preempt nobody leaves, and the texts have no word about it.
func TestGroupWithoutPreemption(t *testing.T) {
	s, placer, o := groupWorld(t, "node n1:1; pod v:1 on=n1 ^1; group g gang1 ^10; pod a:1 in=g ^10")
	o.Preempt = nil
	require.Equal(t, long("a: FIT(1)\ng: MC(1,0,0)"), shown(placer.DecideGroup(s.Queued, o)))
	_, err := situation.Parse("pod a:1 what")
	require.Error(t, err)
}
