package config

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// defaultLists are v1.37's plugins by point.
var defaultLists = map[Point]string{
	PreEnqueue: "SchedulingGates DynamicResources DefaultPreemption",
	QueueSort:  "PrioritySort",
	PreFilter: "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread " +
		"InterPodAffinity DynamicResources NodeDeclaredFeatures",
	Filter: "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits " +
		"VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures",
	PostFilter: "DynamicResources DefaultPreemption",
	PreScore: "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity " +
		"NodeResourcesBalancedAllocation",
	Score: "TaintToleration=3 NodeAffinity=2 NodeResourcesFit=1 VolumeBinding=1 PodTopologySpread=2 InterPodAffinity=2 " +
		"DynamicResources=2 NodeResourcesBalancedAllocation=1 ImageLocality=1",
	Reserve:        "VolumeBinding DynamicResources",
	PreBind:        "VolumeBinding DynamicResources",
	Bind:           "DefaultBinder",
	PlacementScore: "NodeResourcesFit=1",

	PodGroupPostFilter: "DynamicResources DefaultPreemption",
}

// text prints the plugins of a point.
func text(list []Entry) string {
	var out []string
	for _, p := range list {
		if p.Weight != 0 {
			out = append(out, fmt.Sprintf("%s=%d", p.Name, p.Weight))
		} else {
			out = append(out, p.Name)
		}
	}
	return strings.Join(out, " ")
}

func without(list string, names ...string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(list), func(f string) bool {
		name, _, _ := strings.Cut(f, "=")
		return slices.Contains(names, name)
	}), " ")
}

// The lists of every case are written as differences from the default lists.
func TestPluginLists(t *testing.T) {
	type test struct {
		name, why, body string
		want            map[Point]string
	}
	testkit.Run(t, []test{
		{"nothing", "the default lists", "schedulerName: default-scheduler", nil},
		{"empty lists", "as good as none", "plugins: {score: {enabled: [], disabled: []}, filter: {}}", nil},
		{"score alone", "disabled * leaves what is enabled there", "plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 7}]}}",
			map[Point]string{Score: "NodeResourcesFit=7"}},
		{"enabled again at score", "it moves to the front", "plugins: {score: {enabled: [{name: NodeResourcesFit, weight: 7}]}}",
			map[Point]string{Score: "NodeResourcesFit=7 " + without(defaultLists[Score], "NodeResourcesFit")}},
		{"two enabled again at score", "in the order given there; without a weight it counts once",
			"plugins: {score: {enabled: [{name: ImageLocality}, {name: NodeResourcesFit, weight: 7}]}}",
			map[Point]string{Score: "ImageLocality=1 NodeResourcesFit=7 " + without(defaultLists[Score], "NodeResourcesFit", "ImageLocality")}},
		{"weight lost", "TaintToleration listed again without a weight counts once, not three times", "plugins: {score: {enabled: [{name: TaintToleration}]}}",
			map[Point]string{Score: "TaintToleration=1 " + without(defaultLists[Score], "TaintToleration")}},
		{"weight lost in multiPoint", "the same there, and the place is kept", "plugins: {multiPoint: {enabled: [{name: TaintToleration}]}}",
			map[Point]string{Score: strings.Replace(defaultLists[Score], "TaintToleration=3", "TaintToleration=1", 1)}},
		{"weight in multiPoint", "the place is kept", "plugins: {multiPoint: {enabled: [{name: NodeResourcesFit, weight: 7}]}}",
			map[Point]string{Score: strings.Replace(defaultLists[Score], "Fit=1", "Fit=7", 1), PlacementScore: "NodeResourcesFit=7"}},
		{"weight in both", "the point's counts there", "plugins: {multiPoint: {enabled: [{name: NodeResourcesFit, weight: 7}]}, score: {enabled: [{name: NodeResourcesFit, weight: 9}]}}",
			map[Point]string{Score: "NodeResourcesFit=9 " + without(defaultLists[Score], "NodeResourcesFit"), PlacementScore: "NodeResourcesFit=7"}},
		{"weight at filter", "counts for nothing; the plugin moves to the front there", "plugins: {filter: {enabled: [{name: NodeAffinity, weight: 20}]}}",
			map[Point]string{Filter: "NodeAffinity " + without(defaultLists[Filter], "NodeAffinity")}},
		{"disabled at score", "the other plugins keep their order", "plugins: {score: {disabled: [{name: ImageLocality}]}}", map[Point]string{Score: without(defaultLists[Score], "ImageLocality")}},
		{"disabled in multiPoint", "the same there", "plugins: {multiPoint: {disabled: [{name: ImageLocality}]}}", map[Point]string{Score: without(defaultLists[Score], "ImageLocality")}},
		{"disabled unknown", "unknown names may be disabled", "plugins: {score: {disabled: [{name: Nope}]}, multiPoint: {disabled: [{name: GCEPDLimits}]}}", nil},
		{"disabled and enabled at score", "it leaves multiPoint and comes last", "plugins: {score: {disabled: [{name: NodeAffinity}], enabled: [{name: NodeAffinity, weight: 5}]}}",
			map[Point]string{Score: without(defaultLists[Score], "NodeAffinity") + " NodeAffinity=5"}},
		{"disabled in multiPoint and enabled at score", "it comes last", "plugins: {multiPoint: {disabled: [{name: ImageLocality}]}, score: {enabled: [{name: ImageLocality, weight: 5}]}}",
			map[Point]string{Score: without(defaultLists[Score], "ImageLocality") + " ImageLocality=5"}},
		{"disabled and enabled in multiPoint", "it moves to the end of all lists", "plugins: {multiPoint: {disabled: [{name: NodePorts}], enabled: [{name: NodePorts}]}}",
			map[Point]string{Filter: without(defaultLists[Filter], "NodePorts") + " NodePorts", PreFilter: without(defaultLists[PreFilter], "NodePorts") + " NodePorts"}},
		{"multiPoint alone", "what three plugins take part in", "plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}, {name: NodeAffinity, weight: 9}]}}",
			map[Point]string{PreEnqueue: "", PreFilter: "NodeAffinity", Filter: "NodeAffinity", PostFilter: "", PreScore: "NodeAffinity", Score: "NodeAffinity=9", Reserve: "", PreBind: "", PlacementScore: "", PodGroupPostFilter: ""}},
		{"filters in front", "two of them are asked first, PreFilter stays", "plugins: {filter: {enabled: [{name: TaintToleration}, {name: NodePorts}]}}",
			map[Point]string{Filter: "TaintToleration NodePorts " + without(defaultLists[Filter], "TaintToleration", "NodePorts")}},
		{"last weight negative", "accepted when it is the last of all", "plugins: {multiPoint: {enabled: [{name: ImageLocality, weight: -3}]}}",
			map[Point]string{Score: strings.Replace(defaultLists[Score], "ImageLocality=1", "ImageLocality=-3", 1)}},
		{"gangs", "a plugin that no default has", "plugins: {multiPoint: {enabled: [{name: GangScheduling}]}}",
			map[Point]string{PreEnqueue: defaultLists[PreEnqueue] + " GangScheduling", Permit: "GangScheduling"}},
		{"twice where it is disabled", "repetitions count only where the plugin takes part", "plugins: {multiPoint: {enabled: [{name: NodeName}, {name: NodeName}]}, filter: {disabled: [{name: NodeName}]}, preFilter: {disabled: [{name: NodeName}]}}",
			map[Point]string{Filter: without(defaultLists[Filter], "NodeName"), PreFilter: without(defaultLists[PreFilter], "NodeName")}},
	}, func(t *testing.T, c test) {
		conf, err := Load([]byte(profileOf(c.body)))
		require.NoError(t, err, c.why)
		want := maps.Clone(defaultLists)
		maps.Copy(want, c.want)
		for _, at := range Points() {
			require.Equal(t, want[at], text(conf.Profiles[0].Plugins[at]), "%v: %s", at, c.why)
		}
	})
}

// Placement runs the plugins of the lists: the default profile is placement's own.
func TestDefaultPlacement(t *testing.T) {
	c, err := Load([]byte(head))
	require.NoError(t, err)
	got, want := c.Profiles[0].Placement, placement.DefaultProfile()
	names := func(p placement.Profile) (out []string) {
		for _, f := range p.Filters {
			out = append(out, f.Name)
		}
		for _, s := range p.Scores {
			out = append(out, fmt.Sprint(s.Plugin.Name, max(s.Weight, 1))) // 0 means 1
		}
		return out
	}
	require.Equal(t, names(want), names(got))
	require.Equal(t, want.SchedulerName, got.SchedulerName)
	require.Nil(t, got.Sampling.Percentage)
	require.Zero(t, got.Sampling.Global)
}

// The laws of merging: an empty list changes nothing, a merged list of distinct names repeats no name, and disabled names
// that are not enabled are missing.
func TestMergeLaws(t *testing.T) {
	require.Equal(t, defaults, merge(defaults, pluginSet{}).Enabled)
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		var user pluginSet
		for _, k := range r.Perm(len(defaults))[:r.IntN(6)] {
			user.Enabled = append(user.Enabled, plugin{defaults[k].Name, int32(r.IntN(9))})
		}
		for range r.IntN(4) {
			user.Disabled = append(user.Disabled, plugin{Name: defaults[r.IntN(len(defaults))].Name})
		}
		out := merge(defaults, user)
		seen := map[string]bool{}
		for _, p := range out.Enabled {
			require.False(t, seen[p.Name])
			seen[p.Name] = true
			require.True(t, user.enables(p.Name) || !user.disables(p.Name))
		}
		for _, p := range user.Enabled {
			require.Contains(t, out.Enabled, p)
		}
	}
	require.Less(t, int64(len(inTree))*math.MaxInt32*100, int64(math.MaxInt64), "weights cannot overflow by their size")
}

// Load leaves plugins that do not run at Filter or Score out of placement, except for what they decide at PreFilter.
func TestPointsApart(t *testing.T) {
	c, err := Load([]byte(profileOf("plugins: {filter: {disabled: [{name: NodeAffinity}]}, preFilter: {disabled: [{name: NodeResourcesFit}]}, preScore: {disabled: [{name: InterPodAffinity}]}}")))
	require.NoError(t, err)
	p := c.Profiles[0]
	pod := pod("p")
	pod.Spec.NodeSelector = map[string]string{"no": "node"}
	require.True(t, decide(t, p.Placement, pod, node("n", nil)).Placed(), "NodeAffinity does not run at Filter")
	require.Equal(t, []string{
		"plugin NodeResourcesFit runs at Filter but not at PreFilter, where it prepares: kube-scheduler may fail every pod",
		"plugin InterPodAffinity runs at Score but not at PreScore, where it prepares: kube-scheduler may fail every pod",
	}, p.Warnings)
}

func (s pluginSet) disables(name string) bool {
	return slices.ContainsFunc(s.Disabled, func(p plugin) bool { return p.Name == name })
}

func (s pluginSet) enables(name string) bool {
	return slices.ContainsFunc(s.Enabled, func(p plugin) bool { return p.Name == name })
}

// A plugin that runs at PreFilter alone has no group, so that the engine keeps nothing for it, and no score. The plugin that it is made of stays
// as it is.
func TestPreFilterOnlyKeepsNothing(t *testing.T) {
	filters := placement.DefaultProfile().Filters
	whole := filters[slices.IndexFunc(filters, func(p *placement.Plugin) bool { return p.Name == "NodeAffinity" })]
	group := whole.Keep
	require.NotEqual(t, placement.KeepNothing, group)
	only := preFilterOnly(whole)
	require.Equal(t, placement.KeepNothing, only.Keep)
	require.Nil(t, only.Score)
	require.Equal(t, group, whole.Keep)
	require.NotNil(t, whole.Score)
}
