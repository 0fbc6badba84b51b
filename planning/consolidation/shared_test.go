package consolidation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// What a bound and a profile are made of stays as it is.
func TestNothingIsShared(t *testing.T) {
	asks := resources.Vector{5, 1}
	require.Equal(t, resources.Vector{3, 1}, least(least(nil, asks), resources.Vector{3, 4}))
	require.Equal(t, resources.Vector{5, 1}, asks)

	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	real := placement.DefaultProfile()
	real.Filters = append(make([]*placement.Plugin, 0, len(real.Filters)+1), real.Filters...) // with room for one more
	p := &Planner{base: s, real: real}
	p.packing = p.packingProfile()
	require.Len(t, p.packing.Filters, len(real.Filters)+1)
	require.Nil(t, real.Filters[:len(real.Filters)+1][len(real.Filters)])
	var plugin *placement.Plugin
	at := 0
	for k, f := range p.packing.Filters {
		if f.Name == "InterPodAffinity" {
			at, plugin = k, f
		}
	}
	own := p.packs(new(engine.Memo))
	require.NotSame(t, plugin, own.Filters[at], "each run has a memo of its own")
	require.Same(t, plugin, p.packing.Filters[at])
}
