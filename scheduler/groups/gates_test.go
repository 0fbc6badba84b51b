package groups

import (
	"fmt"
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
		{"all of a stage", "the gates of groups are alpha and beta", []string{"AllAlpha=true,AllBeta=true"}, &podgroup.Gates{Topology: true, Composites: true, PreemptionPolicy: true, Claims: true}, ""},
		{"all but one", "a gate's own value counts before that of its stage", []string{"AllBeta=true,GenericWorkload=false,DRAWorkloadResourceClaims=false"}, nil, ""},
		{"prefix", "as the flag of kube-scheduler has it", []string{"kube:GenericWorkload=true"}, &podgroup.Gates{}, ""},
		{"unknown", "the gate is named", []string{"Gangs=true"}, nil, `unrecognized feature gate: Gangs`},
		{"gone", "v1.37 does not have the gate any more", []string{"SchedulerQueueingHints=true"}, nil, `unrecognized feature gate: SchedulerQueueingHints`},
		{"locked", "it cannot be turned off", []string{"DRAExtendedResource=false"}, nil, "cannot set feature gate DRAExtendedResource to false, feature is locked to true"},
		{"locked as it is", "nothing changes", []string{"DRAExtendedResource=true"}, nil, ""},
		{"no value", "true or false", []string{"GenericWorkload"}, nil, "missing bool value for GenericWorkload"},
		{"no bool", "true or false", []string{"GenericWorkload=maybe"}, nil, `invalid value of GenericWorkload=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax`},
		{"empty", "no gate, as there", []string{"", "GenericWorkload=true,"}, &podgroup.Gates{}, ""},
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

// Gates that switch plugins.
func TestArgsOfGates(t *testing.T) {
	var g FeatureGates
	require.Zero(t, g.Args())
	plugins, err := g.Plugins()
	require.NoError(t, err)
	require.Empty(t, plugins)
	require.False(t, g.OfGroups())
	require.NoError(t, g.Set("TaintTolerationComparisonOperators=true,DRAFractionalCapacityRange=true,StorageCapacityScoring=false,VolumeLimitScaling=false"))
	a := g.Args()
	require.True(t, g.Compares() && a.Taints.ComparisonOperators && a.Devices.Search.FractionalRange && a.Volumes.WithoutStorageScore && a.Volumes.WithoutLimitScaling)
	require.False(t, g.OfGroups())
	require.Empty(t, g.Notes())
	var names []string
	plugins, err = g.Plugins()
	require.NoError(t, err)
	for _, p := range plugins {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"NodeUnschedulable", "TaintToleration", "PodTopologySpread", "DynamicResources", "VolumeBinding", "NodeVolumeLimits"}, names)
	require.True(t, FeatureGates{Composites: false}.OfGroups())
}

// What a user is told about gates that switch nothing.
func TestNotesOfGates(t *testing.T) {
	var g FeatureGates
	require.NoError(t, g.Set("SchedulerAsyncAPICalls=true,OpportunisticBatching=true,InterPodAffinityHostnameFastPath=true,AllBeta=true,DRAExtendedResource=true"))
	require.Equal(t, []string{
		"feature gate AllBeta=true: of the beta gates it switches those that podberth follows, and no others",
		"feature gate InterPodAffinityHostnameFastPath=true: podberth does not follow it, and decides as with InterPodAffinityHostnameFastPath=false. A shortcut with the same answers",
		"feature gate SchedulerAsyncAPICalls=true: podberth does not follow it, and decides as with SchedulerAsyncAPICalls=false",
	}, g.Notes())
}

// Any text is taken or refused, and what is taken reads the same again.
func FuzzFeatureGates(f *testing.F) {
	f.Add("GenericWorkload=true,AllBeta=false")
	f.Add("kube:A=,=true,,")
	f.Fuzz(func(t *testing.T, text string) {
		var g, again FeatureGates
		if g.Set(text) != nil {
			return
		}
		g.Notes()
		g.Args()
		require.NoError(t, again.Set(g.String()))
		require.Equal(t, g, again)
	})
}

// A gate that is set to its default switches nothing, so nothing is said; one that is locked takes no other value.
func TestEveryGate(t *testing.T) {
	for name, k := range known() {
		g := FeatureGates{}
		require.NoError(t, g.Set(fmt.Sprintf("%s=%t", name, k.on)))
		require.Empty(t, g.Notes(), name)
		err := g.Set(fmt.Sprintf("%s=%t", name, !k.on))
		if k.locked {
			require.EqualError(t, err, fmt.Sprintf("cannot set feature gate %s to %t, feature is locked to %t", name, !k.on, k.on))
		} else {
			require.NoError(t, err, name)
			for _, note := range g.Notes() { // none for a gate that is followed
				require.Contains(t, note, fmt.Sprintf("and decides as with %s=%t", name, k.on))
			}
		}
	}
}
