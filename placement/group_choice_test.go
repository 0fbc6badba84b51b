package placement_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
)

// E39: placements of equal score are chosen by Options.Tie, the first without it.
func TestGroupTie(t *testing.T) {
	s, placer, o := groupWorld(t, "gates=T; node a1:2 zone=a; node b1:2 zone=b; group g gang2 key=zone; pod a,b:1 in=g")
	require.Equal(t, "a -> a1\nb -> a1\ng True", shown(placer.DecideGroup(s.Queued, o)))
	o.Tie = func(n int) int { return n - 1 }
	require.Equal(t, "a -> b1\nb -> b1\ng True", shown(placer.DecideGroup(s.Queued, o)))
}

// E41: with sampling a member's search begins where that of the member before it ended.
func TestGroupSampling(t *testing.T) {
	var world strings.Builder
	for k := range 150 {
		fmt.Fprintf(&world, "node n%03d:4\n", k)
	}
	s, snapshot, _, o := groupSnapshot(t, world.String()+"group g gang2\npod a,b:1 in=g")
	profile := placement.DefaultProfile()
	profile.Sampling.Percentage = new(int32(10))
	placer, err := placement.NewPlacer(snapshot, profile)
	require.NoError(t, err)
	d := placer.DecideGroup(s.Queued, o)
	for k, from := range []int{0, 100} {
		require.Equal(t, 100, d.Members[k].Evaluated)
		require.Equal(t, (from+100)%150, d.Members[k].Next)
	}
	require.Equal(t, 50, d.Next)
}

// E71: the member for which there was no room preempts in the next cycle, as a group of its own members that wait.
func TestGroupCycles(t *testing.T) {
	s, placer, o := groupWorld(t, "node n1:2; pod v1:1 on=n1 ^1; group g gang1 ^10; pod a,b:1 in=g ^10")
	d := placer.DecideGroup(s.Queued, o)
	require.Equal(t, long("a -> n1\nb: FIT(1)\ng True"), shown(d))
	require.NoError(t, placer.AssumeGroup(d))
	d = placer.DecideGroup(s.Queued[1:], o)
	require.Equal(t, filter.Unschedulable, d.Code)
	require.True(t, d.Waiting)
	require.Equal(t, "v1", d.Victims[0].Pod.Name)
	require.NoError(t, placer.Forget(d.Victims[0].Pod))
	require.Equal(t, "b -> n1\ng True", shown(placer.DecideGroup(s.Queued[1:], o)))
}

// E96: nothing is written about a group whose members all terminate.
func TestGroupOfTerminating(t *testing.T) {
	s, placer, o := groupWorld(t, "node n1:2; group g gang1; pod a,b:1 in=g terminating")
	d := placer.DecideGroup(s.Queued, o)
	require.Equal(t, filter.Skip, d.Code)
	require.Empty(t, d.Groups)
	require.Equal(t, "a dropped\nb dropped", shown(d))
}
