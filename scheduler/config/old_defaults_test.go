package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Default constraints without a type are a list in the versions in which they were, and loading the document of v1 keeps them.
func TestOldDefaultConstraints(t *testing.T) {
	const constraint = "[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]"
	type test struct{ name, why, version, args, want string }
	testkit.Run(t, []test{
		{"v1alpha2", "it had no type", "v1alpha2", "defaultConstraints: " + constraint, "defaultingType: List"},
		{"v1beta1", "a list stood for itself", "v1beta1", "defaultConstraints: " + constraint, "defaultingType: List"},
		{"v1beta1 with a type", "the document's own", "v1beta1", "defaultingType: List, defaultConstraints: " + constraint, "defaultingType: List"},
		{"v1beta1 without constraints", "today's default", "v1beta1", "defaultConstraints: []", ""},
		{"v1beta2", "System was the default, and excludes a list", "v1beta2", "defaultConstraints: " + constraint, ""},
	}, func(t *testing.T, c test) {
		out, notes := convertOld(c.version, []byte("apiVersion: kubescheduler.config.k8s.io/"+c.version+
			"\nkind: KubeSchedulerConfiguration\nprofiles:\n- pluginConfig: [{name: PodTopologySpread, args: {"+c.args+"}}]\n"))
		if c.want == "" {
			require.NotContains(t, string(out), "defaultingType")
			return
		}
		require.Empty(t, notes)
		require.Contains(t, string(out), c.want)
		loaded, err := Load(out)
		require.NoError(t, err)
		require.Len(t, loaded.Profiles, 1)
	})
}
