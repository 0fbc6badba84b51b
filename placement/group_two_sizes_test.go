package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/filter"
)

// The nodes of zone a have room for one large and one small member each: twelve small ones, not six large ones. A group of both goes to zone b,
// whichever kind is the more frequent one.
func TestGroupOfTwoSizes(t *testing.T) {
	s, placer, o := groupWorld(t, "gates=T; node a1,a2,a3,a4:3 zone=a; node b1,b2,b3,b4:4 zone=b; group g gang7 key=zone; pod p1,p2,p3,p4,p5,p6:2 in=g; pod s:1 in=g")
	d := placer.DecideGroup(s.Queued, o)
	require.Equal(t, filter.Success, d.Code)
	for _, m := range d.Members {
		require.Equal(t, "b", m.Node[:1], m.Pod.Name)
	}
}
