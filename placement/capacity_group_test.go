package placement_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// How many more groups like one fit, each with all of its pods, and why the next does not. Nothing stays in the snapshot.
func TestHowManyGroups(t *testing.T) {
	type test struct {
		name, why, text string
		root            string
		nodes           []string
		groups          int
		stop            string // "member: text" of the first member without a node of its own
	}
	testkit.Run(t, []test{
		{"gang", "3 nodes take one gang of 2, and half of the next", "node n1:2; node n2:2; node n3:2; group g gang2; pod a,b:2 in=g",
			"podgroup/d/g", []string{"n1", "n2"}, 1, "b-2: 0/3 nodes are available: 3 Insufficient cpu."},
		{"beside what runs", "the running gang keeps its room", "node n1:4; node n2:2; group g gang2; pod a:2 in=g on=n1; pod b:2 in=g on=n2",
			"podgroup/d/g", nil, 0, "b-1: 0/2 nodes are available: 2 Insufficient cpu."},
		{"running pods are copied", "where they run does not count", "node n1:4; node n2:4; group g gang2; pod a:2 in=g on=n1; pod b:2 in=g on=n1",
			"podgroup/d/g", []string{"n2", "n2"}, 1, "a-2: 0/2 nodes are available: 2 Insufficient cpu."},
		{"racks", "a gang stays in its rack", "gates=T; node a1:2 rack=a; node a2:2 rack=a; node b1:2 rack=b; group g gang2 key=rack; pod a,b:2 in=g",
			"podgroup/d/g", []string{"a1", "a2"}, 1, "a-2: 0/2 nodes are available: 2 Insufficient cpu."},
		{"racks, gate off", "the constraint is ignored", "node a1:2 rack=a; node b1:2 rack=b; group g gang2 key=rack; pod a,b:2 in=g",
			"podgroup/d/g", []string{"a1", "b1"}, 1, "a-2: 0/2 nodes are available: 2 Insufficient cpu."},
		{"all pods, not the minimum", "kube-scheduler would place two of three", "node n1:2; node n2:2; group g gang2; pod a,b,c:2 in=g",
			"podgroup/d/g", nil, 0, "c-1: 0/2 nodes are available: 2 Insufficient cpu."},
		{"fewer pods than the minimum", "the last pod is copied again", "node n1:3; node n2:3; group g gang3; pod a:2 in=g; pod b:1 in=g",
			"podgroup/d/g", []string{"n1", "n2", "n2"}, 1, "a-2: 0/2 nodes are available: 2 Insufficient cpu."},
		{"tree", "the whole tree is copied", "gates=C; node n1:2; node n2:2; composite job gang2; group g gang1 parent=job; group h gang1 parent=job; pod a:1 in=g; pod b:1 in=h",
			"compositepodgroup/d/job", []string{"n1", "n2", "n1", "n2"}, 2, "a-3: 0/2 nodes are available: 2 Insufficient cpu."},
	}, func(t *testing.T, c test) {
		s, snapshot, placer, o := groupSnapshot(t, c.text)
		var pods []*v1.Pod
		for _, p := range append(append([]*v1.Pod{}, s.Running...), s.Queued...) {
			if _, in := podgroup.Of(p); in {
				pods = append(pods, p)
			}
		}
		for range 2 { // everything is taken back
			room, err := placer.HowManyGroups(pods, o.Gates, nil)
			require.NoError(t, err)
			require.Equal(t, c.root, room.Root)
			require.Equal(t, c.groups, room.Groups)
			require.Equal(t, c.nodes, room.Nodes)
			require.NotNil(t, room.Stop)
			stop := ""
			for _, m := range room.Stop.Members {
				if m.Failure != nil && stop == "" {
					stop = m.Pod.Name + ": " + m.Failure.Text()
				}
			}
			require.Equal(t, c.stop, stop)
			require.Nil(t, snapshot.Group("d", "g-more-1"))
		}
		room, err := placer.HowManyGroups(pods, o.Gates, func(int) bool { return false })
		require.NoError(t, err)
		require.Nil(t, room.Stop)
		require.Zero(t, room.Groups)
	})
}

// What HowManyGroups counts is what a loop of DecideGroup counts that really adds groups.
func TestHowManyGroupsCountsDecisions(t *testing.T) {
	const world = "gates=T; node a1:9 rack=a; node a2:5 rack=a; node b1:8 rack=b; node b2:7 rack=b; pod x:1 on=a1; pod y:2 on=b2; "
	_, placer, o := groupWorld(t, world+"group g gang3 key=rack; pod a,b,c:2 in=g")
	s, _, _ := groupWorld(t, world+"group g gang3 key=rack; pod a,b,c:2 in=g")
	room, err := placer.HowManyGroups(s.Queued, o.Gates, nil)
	require.NoError(t, err)
	require.Equal(t, 4, room.Groups)

	text, placed := world, 0
	for n := 1; ; n++ {
		text += fmt.Sprintf("group g%d gang3 key=rack; pod a%d,b%d,c%d:2 in=g%d; ", n, n, n, n, n)
		s, placer, o := groupWorld(t, text)
		done := true
		for k := 1; k <= n; k++ {
			d := placer.DecideGroup(s.Queued[3*(k-1):3*k], placement.GroupOptions{Gates: o.Gates})
			done = done && d.Code == 0
			require.NoError(t, placer.AssumeGroup(d))
		}
		if !done {
			break
		}
		placed = n
	}
	require.Equal(t, placed, room.Groups)
}

// How many more pods of a group that runs fit: they keep to the group's domain.
func TestHowManyMembers(t *testing.T) {
	s, placer, o := groupWorld(t, "gates=T; node a1:4 rack=a; node a2:3 rack=a; node b1:9 rack=b; group g gang2 key=rack; pod a:2 in=g on=a1; pod b:1 in=g on=a2")
	room, err := placer.HowManyMembers(s.Running[0], o.Gates, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a1", "a2"}, room.Nodes)
	require.Equal(t, "0/2 nodes are available: 2 Insufficient cpu.", room.Stop.Text())

	o.Gates.Topology = false
	room, err = placer.HowManyMembers(s.Running[0], o.Gates, nil)
	require.NoError(t, err)
	require.Len(t, room.Nodes, 6, "the constraint does not count")
}

func TestHowManyGroupsOfBadPods(t *testing.T) {
	s, placer, o := groupWorld(t, "node n1:4; group g gang1; group h gang1; pod a:1 in=g; pod b:1 in=h; pod c:1 in=none")
	none := testkit.Pod("p").Obj()
	for name, c := range map[string]struct {
		pods []*v1.Pod
		want string
	}{
		"no pods":         {nil, placement.ErrNoGroup.Error()},
		"a nil pod":       {[]*v1.Pod{nil}, placement.ErrNoGroup.Error()},
		"no group":        {[]*v1.Pod{none}, placement.ErrNoGroup.Error()},
		"two trees":       {s.Queued[:2], placement.ErrNoGroup.Error()},
		"no object of it": {s.Queued[2:], "pod group d/none: no object of the group"},
	} {
		_, err := placer.HowManyGroups(c.pods, o.Gates, nil)
		require.EqualError(t, err, c.want, name)
		if len(c.pods) == 1 {
			_, err = placer.HowManyMembers(c.pods[0], o.Gates, nil)
			require.EqualError(t, err, c.want, name)
		}
	}
}
