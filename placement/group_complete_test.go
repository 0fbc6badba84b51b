package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// The members that the caller leaves out are tried in the domain of the others, and in no other. The next question finds every node again.
func TestRestOfACompletedGroup(t *testing.T) {
	s, placer, o := groupWorld(t, "gates=T; node a1:2 zone=a; node a2:4 zone=a; node b1:4 zone=b; group g gang2 key=zone; pod p1:2 in=g; pod p2:4 in=g; pod p3:4 in=g")
	o.Complete = func(members []*v1.Pod) ([]placement.GroupPlace, error) {
		require.Len(t, members, 3)
		return []placement.GroupPlace{{Pod: members[0], Node: "a1"}, {Pod: members[1], Node: "a2"}}, nil
	}
	var at []string
	for _, m := range placer.DecideGroup(s.Queued, o).Members {
		at = append(at, m.Node)
	}
	require.Equal(t, []string{"a1", "a2", ""}, at, "b1 has room for p3 and is in another zone")
	other := testkit.Pod("other").Request("cpu=1").Obj()
	other.Spec.NodeSelector = map[string]string{"zone": "b"}
	require.Equal(t, "b1", placer.Decide(other, placement.Options{}).Node)
}

// A member that is nominated and has no place yet keeps its pod's place among the pods of a node, and no more.
func TestNominatedMembers(t *testing.T) {
	s, placer, o := groupWorld(t, "node n1:4 pods=1; node n2:2; group g gang2; pod p1:1 in=g; pod p2:1 in=g nominated=n1")
	d := placer.DecideGroup(s.Queued, o)
	require.Equal(t, filter.Success, d.Code)
	require.Equal(t, []string{"n2", "n1"}, []string{d.Members[0].Node, d.Members[1].Node})
}

// Without scores a member takes the first node that has room, from Next on, and so does the member after it from where that search ended.
func TestMembersFromAPlaceOn(t *testing.T) {
	s, snapshot, _, o := groupSnapshot(t, "node n1:9; node n2:9; node n3:9; group g gang2; pod p1:1 in=g; pod p2:1 in=g")
	profile := placement.DefaultProfile()
	profile.Scores = nil
	placer, err := placement.NewPlacer(snapshot, profile)
	require.NoError(t, err)
	for next, want := range [][]string{{"n1", "n2"}, {"n2", "n3"}, {"n3", "n1"}} {
		o.Next = next
		d := placer.DecideGroup(s.Queued, o)
		require.Equal(t, want, []string{d.Members[0].Node, d.Members[1].Node})
		require.Equal(t, (next+2)%3, d.Next)
	}
}
