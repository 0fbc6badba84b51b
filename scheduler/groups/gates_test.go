package groups

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

// The gates of a flag, and what a user gets wrong.
func TestFeatureGates(t *testing.T) {
	type test struct {
		name, why string
		set       []string
		want      *podgroup.Gates
		err       string
	}
	testkit.Run(t, []test{
		{"none", "groups do not count", nil, nil, ""},
		{"groups", "the gate of all others", []string{"GenericWorkload=true"}, &podgroup.Gates{}, ""},
		{"all", "in two flags", []string{"GenericWorkload=true, TopologyAwareWorkloadScheduling=true", "CompositePodGroup=true,PodGroupPreemptionPolicy=true,DRAWorkloadResourceClaims=true"},
			&podgroup.Gates{Topology: true, Composites: true, PreemptionPolicy: true, Claims: true}, ""},
		{"last", "a later flag counts", []string{"GenericWorkload=true", "GenericWorkload=false"}, nil, ""},
		{"alone", "a gate needs another", []string{"GenericWorkload=true,CompositePodGroup=true"}, nil, "feature gate CompositePodGroup: Invalid value: true: needs TopologyAwareWorkloadScheduling"},
		{"unknown", "the gates are named", []string{"Gangs=true"}, nil, `"Gangs" is not a feature gate of groups: CompositePodGroup, DRAWorkloadResourceClaims, GenericWorkload, PodGroupPreemptionPolicy, TopologyAwareWorkloadScheduling`},
		{"no value", "true or false", []string{"GenericWorkload"}, nil, "GenericWorkload: must be true or false"},
		{"empty", "no gate", []string{""}, nil, `"" is not a feature gate`},
	}, func(t *testing.T, c test) {
		var g FeatureGates
		var err error
		for _, text := range c.set {
			if err == nil {
				err = g.Set(text)
			}
		}
		var got *podgroup.Gates
		if err == nil {
			got, err = g.Gates()
		}
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	})
	require.Equal(t, "CompositePodGroup=false,GenericWorkload=true", FeatureGates{GenericWorkload: true, Composites: false}.String())
	require.Equal(t, "gates", FeatureGates(nil).Type())
}
