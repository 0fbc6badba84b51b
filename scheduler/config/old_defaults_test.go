package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// The defaults that differ between the versions, of configurations that say nothing about them. What v1.22.17 makes of v1beta1 and v1beta2 was
// printed by its own decoder and defaults; v1beta2 has the same values in v1.25.16, and v1beta3 those of v1. v1alpha1 and v1alpha2 had the
// weights of v1beta1. Defaults that do not differ: parallelism 16, back-off 1 s and 10 s, the percentage 0, hardPodAffinityWeight 1, minCandidateNodes
// 10 % and 100, bindTimeoutSeconds 600, LeastAllocated with cpu 1 and memory 1, and the other weights.
func TestOldDefaults(t *testing.T) {
	const (
		config = "kubescheduler.config.k8s.io/"
		once   = "InterPodAffinity=1 NodeAffinity=1 TaintToleration=1"
		now    = "InterPodAffinity=2 NodeAffinity=2 TaintToleration=3"
	)
	type test struct{ name, why, version, more, want string }
	testkit.Run(t, []test{
		{"v1", "today's weights", config + "v1", "", now},
		{"v1beta3", "the weights came with it", config + "v1beta3", "", now},
		{"v1beta2", "one each", config + "v1beta2", "", once},
		{"v1beta1", "one each", config + "v1beta1", "", once},
		{"v1alpha2", "one each", config + "v1alpha2", "", once},
		{"v1alpha1", "one each", config + "v1alpha1", "", once},
		{"componentconfig", "the first group", "componentconfig/v1alpha1", "", once},
		{"Policy", "no list is the default list", "v1", "", once},
		{"two profiles", "each has them", config + "v1beta2", "profiles: [{schedulerName: a}, {schedulerName: b}]", once},
		{"no profile", "an empty list is none", config + "v1beta2", "profiles: []", once},
		{"own weight", "the document's own", config + "v1beta2", "profiles: [{plugins: {score: {disabled: [{name: NodeAffinity}], enabled: [{name: NodeAffinity, weight: 5}]}}}]", "InterPodAffinity=1 NodeAffinity=5 TaintToleration=1"},
		{"disabled", "it does not come back", config + "v1beta1", "profiles: [{plugins: {score: {disabled: [{name: TaintToleration}]}}}]", "InterPodAffinity=1 NodeAffinity=1"},
		{"all disabled", "nothing comes back", config + "v1beta1", "profiles: [{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: ImageLocality}]}}}]", ""},
	}, func(t *testing.T, c test) {
		kind := configKind
		if c.name == "Policy" {
			kind = c.name
		}
		text := []byte("apiVersion: " + c.version + "\nkind: " + kind + "\n" + c.more)
		loaded, err := Load(text)
		if old := new(OldVersionError); errors.As(err, &old) {
			require.Empty(t, old.Notes)
			loaded, err = Load(old.Equivalent)
		}
		require.NoError(t, err)
		for _, p := range loaded.Profiles {
			var got []string
			for _, x := range p.Plugins[Score] {
				if slices.Contains(onceLighter[:], x.Name) {
					got = append(got, fmt.Sprintf("%s=%d", x.Name, x.Weight))
				}
			}
			slices.Sort(got)
			require.Equal(t, c.want, strings.Join(got, " "))
		}
	})
}

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
