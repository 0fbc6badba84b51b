package history

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/release/plugins"
)

func TestOldFilters(t *testing.T) {
	today := map[string]bool{}
	for _, name := range plugins.DefaultAt(release.Current, "Filter") {
		today[name] = true
	}
	seen := map[string]bool{}
	for _, o := range oldFilters {
		require.False(t, seen[o.Old], o.Old)
		seen[o.Old] = true
		require.False(t, today[o.Old], "%s is a name of today", o.Old)
		for _, p := range o.Plugins {
			require.True(t, today[p], "%s -> %s", o.Old, p)
		}
		require.True(t, len(o.Plugins) > 0 || o.Note != "", "%s has neither plugins nor a note", o.Old)
		got, ok := FindOldFilter(o.Old)
		require.True(t, ok)
		require.Equal(t, o, got)
		if len(got.Plugins) > 0 {
			got.Plugins[0] = "changed by the caller"
			again, _ := FindOldFilter(o.Old)
			require.Equal(t, o, again)
			require.NotEqual(t, got, again)
		}
	}
	for old, plugin := range map[string]string{"PodFitsResources": "NodeResourcesFit", "PodFitsHostPorts": "NodePorts", "HostName": "NodeName",
		"MatchNodeSelector": "NodeAffinity", "NoDiskConflict": "VolumeRestrictions", "NoVolumeZoneConflict": "VolumeZone",
		"CheckVolumeBinding": "VolumeBinding", "EBSLimits": "NodeVolumeLimits", "EvenPodsSpread": "PodTopologySpread"} {
		got, ok := FindOldFilter(old)
		require.True(t, ok)
		require.Equal(t, []string{plugin}, got.Plugins)
	}
	_, ok := FindOldFilter("NodeResourcesFit")
	require.False(t, ok)
}
