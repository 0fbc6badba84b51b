package scheduler

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

func list(f *Framework, at Point) string {
	var out []string
	for _, p := range f.ListPlugins()[at] {
		if at == Score {
			out = append(out, fmt.Sprintf("%s=%d", p.Name, p.Weight))
		} else {
			out = append(out, p.Name)
		}
	}
	return strings.Join(out, " ")
}

func refs(names ...string) []PluginRef {
	var out []PluginRef
	for _, n := range names {
		var p PluginRef
		p.Name, _, _ = strings.Cut(n, ":")
		_, _ = fmt.Sscanf(strings.TrimPrefix(n, p.Name), ":%d", &p.Weight)
		out = append(out, p)
	}
	return out
}

const (
	defaultFilters = "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures"
	defaultScores  = "TaintToleration=3 NodeAffinity=2 NodeResourcesFit=1 VolumeBinding=1 PodTopologySpread=2 InterPodAffinity=2 DynamicResources=2 NodeResourcesBalancedAllocation=1 ImageLocality=1"
)

func TestDefaultProfile(t *testing.T) { // W9.6, F11
	r := newRig(t, Options{}, three())
	f := r.framework()
	for at, want := range map[Point]string{
		PreEnqueue: "SchedulingGates DynamicResources DefaultPreemption",
		QueueSort:  "PrioritySort",
		PreFilter:  "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures",
		Filter:     defaultFilters,
		PostFilter: "DynamicResources DefaultPreemption",
		PreScore:   "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity NodeResourcesBalancedAllocation",
		Score:      defaultScores,
		Reserve:    "VolumeBinding DynamicResources",
		Permit:     "",
		PreBind:    "VolumeBinding DynamicResources",
		Bind:       "DefaultBinder",
		PostBind:   "",
	} {
		require.Equal(t, want, list(f, at), at)
	}
	require.Equal(t, "default-scheduler", f.ProfileName())
	require.True(t, f.HasScorePlugins())
	require.True(t, f.HasFilterPlugins())
	require.True(t, f.HasPostFilterPlugins())
	require.Nil(t, f.PercentageOfNodesToScore())
	require.NotNil(t, f.plan, "the library answers at once")
}

// A profile says what it lacks.
func TestBareProfile(t *testing.T) {
	f := bare(t, nil).framework()
	require.False(t, f.HasFilterPlugins())
	require.False(t, f.HasPostFilterPlugins())
	require.False(t, f.HasScorePlugins())
	require.Equal(t, map[Point][]PluginRef{QueueSort: refs("PrioritySort"), Bind: refs("DefaultBinder")}, f.ListPlugins(), "empty points are left out")
	_, one := probes(1)
	f = bare(t, one, Filter, PostFilter, Score).framework()
	require.True(t, f.HasFilterPlugins())
	require.True(t, f.HasPostFilterPlugins())
	require.True(t, f.HasScorePlugins())
	percentage := int32(30)
	f = newRig(t, Options{Profiles: []Profile{{PercentageOfNodesToScore: &percentage}}}, three()).framework()
	require.EqualValues(t, 30, *f.PercentageOfNodesToScore())
}

// silent is a filter that says nothing about events. It rejects every node.
type silent struct{}

func (silent) Name() string                                               { return "Silent" }
func (silent) Filter(context.Context, *State, *v1.Pod, *NodeInfo) *Status { return u("no") }

// A pod that such a filter rejects waits for any event, its own update among them. So does a pod that an extender rejects.
func TestPluginsWithoutEvents(t *testing.T) { // 9.6
	r := newRig(t, Options{
		Plugins:  Registry{"Silent": func(any, *Handle) (Plugin, error) { return silent{}, nil }},
		Profiles: []Profile{{Plugins: Plugins{Filter: {Enabled: refs("Silent")}}}},
	}, three())
	x := pod("p")
	r.add(x).step()
	require.Contains(t, r.moves, "default/p: unschedulable -> backoff (TargetPodUpdate, Silent)")

	e := &scripted{name: "X", script: &script{}, filtered: &rules.Filtered{}}
	r = newRig(t, Options{Extenders: []Extender{e}}, three())
	r.add(x).step()
	require.Contains(t, r.moves, "default/p: unschedulable -> backoff (TargetPodUpdate, Extender)")
}

// A single PostFilter plugin is asked for a profile with a plan too.
func TestOnePostFilterPlugin(t *testing.T) {
	r, p := fullNode(t, Options{Profiles: []Profile{{Plugins: Plugins{PostFilter: {Disabled: []string{nameDynamicResources}}}}}}, "a", "b")
	require.NotNil(t, r.framework().plan)
	r.add(p).step()
	require.Equal(t, "n1", r.last().Nominated)
	require.Equal(t, "p", (&Handle{s: r.s}).NominatedFor("n1")[0].Name)
}

func TestPluginLists(t *testing.T) { // W-9
	type test struct {
		name, why    string
		at           Point
		set          PluginSet
		score        string
		filter, bind string
		err          string
	}
	testkit.Run(t, []test{
		{"score all disabled", "W-9", Score, PluginSet{Enabled: refs("NodeResourcesFit:7"), Disabled: []string{"*"}}, "NodeResourcesFit=7", defaultFilters, "DefaultBinder", ""},
		{"score enabled moves to the front", "W-9, trap 4", Score, PluginSet{Enabled: refs("NodeResourcesFit:7")}, "NodeResourcesFit=7 TaintToleration=3 NodeAffinity=2 VolumeBinding=1 PodTopologySpread=2 InterPodAffinity=2 DynamicResources=2 NodeResourcesBalancedAllocation=1 ImageLocality=1", defaultFilters, "DefaultBinder", ""},
		{"two at the front", "9.4", Score, PluginSet{Enabled: refs("ImageLocality", "NodeResourcesFit:7")}, "ImageLocality=1 NodeResourcesFit=7 TaintToleration=3 NodeAffinity=2 VolumeBinding=1 PodTopologySpread=2 InterPodAffinity=2 DynamicResources=2 NodeResourcesBalancedAllocation=1", defaultFilters, "DefaultBinder", ""},
		{"multiPoint keeps the position", "W-9", MultiPoint, PluginSet{Enabled: refs("NodeResourcesFit:7")}, strings.Replace(defaultScores, "NodeResourcesFit=1", "NodeResourcesFit=7", 1), defaultFilters, "DefaultBinder", ""},
		{"score disabled", "W-9", Score, PluginSet{Disabled: []string{"ImageLocality"}}, strings.TrimSuffix(defaultScores, " ImageLocality=1"), defaultFilters, "DefaultBinder", ""},
		{"multiPoint disabled", "W-9", MultiPoint, PluginSet{Disabled: []string{"ImageLocality"}}, strings.TrimSuffix(defaultScores, " ImageLocality=1"), defaultFilters, "DefaultBinder", ""},
		{"only a few", "W-9", MultiPoint, PluginSet{Disabled: []string{"*"}, Enabled: refs("PrioritySort", "DefaultBinder", "NodeAffinity:9")}, "NodeAffinity=9", "NodeAffinity", "DefaultBinder", ""},
		{"filter order", "W-9", Filter, PluginSet{Enabled: refs("TaintToleration", "NodePorts")}, defaultScores, "TaintToleration NodePorts NodeName NodeUnschedulable NodeAffinity NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures", "DefaultBinder", ""},
		{"disabled and enabled at score", "9.4: it leaves multiPoint and comes last", Score, PluginSet{Disabled: []string{"NodeAffinity"}, Enabled: refs("NodeAffinity:5")}, strings.Replace(defaultScores, " NodeAffinity=2", "", 1) + " NodeAffinity=5", defaultFilters, "DefaultBinder", ""},
		{"disabled and enabled at filter", "9.4", Filter, PluginSet{Disabled: []string{"NodeName"}, Enabled: refs("NodeName")}, defaultScores, strings.Replace(defaultFilters, "NodeName ", "", 1) + " NodeName", "DefaultBinder", ""},
		{"disabled and enabled at multiPoint", "9.3: it is appended", MultiPoint, PluginSet{Disabled: []string{"TaintToleration"}, Enabled: refs("TaintToleration:4")}, strings.TrimPrefix(defaultScores, "TaintToleration=3 ") + " TaintToleration=4", strings.Replace(defaultFilters, "TaintToleration ", "", 1) + " TaintToleration", "DefaultBinder", ""},
		{"weight lost", "9.4: the point's weight counts, and none is 1", Score, PluginSet{Enabled: refs("TaintToleration")}, strings.Replace(defaultScores, "TaintToleration=3", "TaintToleration=1", 1), defaultFilters, "DefaultBinder", ""},
		{"weight lost at multiPoint", "9.4", MultiPoint, PluginSet{Enabled: refs("TaintToleration")}, strings.Replace(defaultScores, "TaintToleration=3", "TaintToleration=1", 1), defaultFilters, "DefaultBinder", ""},
		{"last weight negative", "nothing comes after it", MultiPoint, PluginSet{Enabled: refs("ImageLocality:-3")}, strings.Replace(defaultScores, "ImageLocality=1", "ImageLocality=-3", 1), defaultFilters, "DefaultBinder", ""},
		{"only weight negative", "nothing comes after it, but multiPoint's that are left out count", Score, PluginSet{Disabled: []string{"*"}, Enabled: refs("ImageLocality:-3")}, "", "", "", "score plugins: total score of Score plugins could overflow"},
		{"twice at multiPoint", "9.5", MultiPoint, PluginSet{Enabled: refs("NodeName", "NodeName")}, "", "", "", `plugin "NodeName" already registered as "PreFilterPlugin"`},
		{"unknown names in disabled", "9.4", Score, PluginSet{Disabled: []string{"Nobody"}}, defaultScores, defaultFilters, "DefaultBinder", ""},
		{"no binder", "W-9", Bind, PluginSet{Disabled: []string{"*"}}, "", "", "", `at least one bind plugin is needed for profile with scheduler name "default-scheduler"`},
		{"no binder by name", "W-9", Bind, PluginSet{Disabled: []string{"DefaultBinder"}}, "", "", "", `at least one bind plugin is needed`},
		{"no order", "W-9", QueueSort, PluginSet{Disabled: []string{"*"}}, "", "", "", `only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0`},
		{"negative weight", "W-9", Score, PluginSet{Enabled: refs("ImageLocality:-3")}, "", "", "", "score plugins: total score of Score plugins could overflow"},
		{"unknown plugin", "9.5", Filter, PluginSet{Enabled: refs("Nope")}, "", "", "", `FilterPlugin "Nope" does not exist`},
		{"unknown plugin at multiPoint", "9.5", MultiPoint, PluginSet{Enabled: refs("Foo")}, "", "", "", `PreFilterPlugin "Foo" does not exist`},
		{"wrong point", "9.5", Filter, PluginSet{Enabled: refs("ImageLocality")}, "", "", "", `plugin "ImageLocality" does not extend FilterPlugin plugin`},
		{"twice", "9.5", Filter, PluginSet{Enabled: refs("NodePorts", "NodePorts")}, "", "", "", `plugin "NodePorts" already registered as "FilterPlugin"`},
		{"nothing at multiPoint", "9.4", MultiPoint, PluginSet{Disabled: []string{"*"}}, "", "", "", "but got 0"},
	}, func(t *testing.T, c test) {
		s, err := New(mustSnapshot(t), Options{Client: &server{}, Profiles: []Profile{{Plugins: Plugins{c.at: c.set}}}})
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			return
		}
		require.NoError(t, err)
		f := s.Profile("default-scheduler")
		require.Equal(t, c.score, list(f, Score))
		require.Equal(t, c.filter, list(f, Filter))
		require.Equal(t, c.bind, list(f, Bind))
	})
	type test2 struct {
		name, err string
		o         Options
	}
	testkit.Run(t, []test2{
		{"no name", "scheduler name is needed", Options{Profiles: []Profile{{SchedulerName: "a"}, {}}}},
		{"a name twice", `duplicate profile with scheduler name "a"`, Options{Profiles: []Profile{{SchedulerName: "a"}, {SchedulerName: "a"}}}},
		{"two orders", `different queue sort plugins for profile "b": "ByName", first: "PrioritySort"`, Options{
			Profiles: []Profile{{SchedulerName: "a"}, {SchedulerName: "b", Plugins: Plugins{QueueSort: {Enabled: refs("ByName"), Disabled: []string{"*"}}}}},
			Plugins:  Registry{"ByName": func(any, *Handle) (Plugin, error) { return &sorter{}, nil }},
		}},
		{"a plugin that cannot be made", `initializing plugin "NodeResourcesFit": want args to be of type`, Options{Profiles: []Profile{{Args: map[string]any{"NodeResourcesFit": 7}}}}},
		{"args of another plugin", "want args to be plugin NodeResourcesFit, got NodeName", Options{Profiles: []Profile{{Args: map[string]any{"NodeResourcesFit": &placement.Plugin{Name: "NodeName"}}}}}},
		{"args of preemption", `initializing plugin "DefaultPreemption": want args to be of type scheduler.PreemptionArgs, got int`, Options{Profiles: []Profile{{Args: map[string]any{"DefaultPreemption": 7}}}}},
		{"args of a plugin that nobody names are ignored", "", Options{Profiles: []Profile{{Args: map[string]any{"Nobody": 7}}}}},
		{"a name that is taken", "a plugin named NodeName already exists", Options{Plugins: Registry{"NodeName": nil}}},
	}, func(t *testing.T, c test2) {
		c.o.Client = &server{}
		_, err := New(mustSnapshot(t), c.o)
		if c.err == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.err)
		}
	})
	_, err := New(mustSnapshot(t), Options{})
	require.EqualError(t, err, "client: Required value")
	require.EqualError(t, checkProfiles(nil), "at least one profile is required")
}

func mustSnapshot(t *testing.T) *cluster.Snapshot {
	t.Helper()
	c, err := cluster.New(cluster.Objects{Nodes: three()})
	require.NoError(t, err)
	return c
}

func TestRegistry(t *testing.T) { // 9.5
	r := Registry{}
	require.NoError(t, r.Register("X", nil))
	require.EqualError(t, r.Register("X", nil), "a plugin named X already exists")
	require.EqualError(t, r.Merge(Registry{"W": nil, "X": nil}), "a plugin named X already exists")
	require.NoError(t, r.Merge(nil))
	require.NoError(t, r.Unregister("X"))
	require.EqualError(t, r.Unregister("X"), "no plugin named X exists")
	for _, p := range DefaultPlugins()[MultiPoint].Enabled {
		require.Contains(t, DefaultRegistry(), p.Name)
	}
}
