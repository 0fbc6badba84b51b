package config

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/placement"
)

// prune drops what says nothing, and nothing else.
func TestPrune(t *testing.T) {
	doc := mapping{
		"null": nil, "empty": mapping{}, "emptyList": []any{}, "text": "", "zero": float64(0), "false": false,
		"nested":           mapping{"a": nil, "b": mapping{"c": []any{}}},
		"full":             mapping{"a": nil, "b": int64(0)},
		"list":             []any{mapping{"a": nil, "b": 1}, mapping{"a": nil}, "x"},
		"args":             mapping{"a": nil, "b": []any{}},
		"httpTimeout":      "0s",
		"clientConnection": mapping{"qps": float64(0), "burst": int64(0), "kubeconfig": "", "contentType": "x"},
		"leaderElection":   mapping{"leaseDuration": "0s", "resourceName": ""},
		"enableProfiling":  true,
	}
	prune(doc)
	require.Equal(t, mapping{
		"text": "", "zero": float64(0), "false": false, "full": mapping{"b": int64(0)}, "list": []any{mapping{"b": 1}, mapping{}, "x"},
		"args": mapping{"a": nil, "b": []any{}}, "clientConnection": mapping{"contentType": "x"}, "enableProfiling": true,
	}, doc)
	doc = mapping{"httpTimeout": "5s", "leaderElection": mapping{"leaderElect": false}, "args": mapping{}}
	prune(doc)
	require.Equal(t, mapping{"httpTimeout": "5s", "leaderElection": mapping{"leaderElect": false}, "args": mapping{}}, doc)
}

// Defaults do not replace what is given, and arguments of the plugins that run are made.
func TestDefaultsKeepWhatIsGiven(t *testing.T) {
	c := &configv1.KubeSchedulerConfiguration{}
	c.LeaderElection.ResourceLock, c.LeaderElection.ResourceName, c.LeaderElection.ResourceNamespace = "lock", "name", "space"
	c.ClientConnection.ContentType = "application/json"
	SetDefaults(c)
	require.Equal(t, []string{"lock", "name", "space", "application/json"},
		[]string{c.LeaderElection.ResourceLock, c.LeaderElection.ResourceName, c.LeaderElection.ResourceNamespace, c.ClientConnection.ContentType})
	require.Equal(t, int32(16), *c.Parallelism)
	before := c.DeepCopy()
	SetDefaults(c)
	require.Equal(t, before, c)
	for _, p := range c.Profiles {
		for _, entry := range p.PluginConfig {
			require.NotNil(t, entry.Args.Object, entry.Name)
		}
	}
	one := &configv1.KubeSchedulerConfiguration{Profiles: []configv1.KubeSchedulerProfile{{PluginConfig: []configv1.PluginConfig{{Name: "InterPodAffinity"}}}}}
	SetDefaults(one)
	require.Equal(t, "InterPodAffinity", one.Profiles[0].PluginConfig[0].Name)
	require.Equal(t, int32(1), *one.Profiles[0].PluginConfig[0].Args.Object.(*configv1.InterPodAffinityArgs).HardPodAffinityWeight)
}

func TestPointNames(t *testing.T) {
	for _, p := range Points() {
		require.NotEqual(t, "unknown", p.String())
	}
	require.Len(t, Points(), int(numPoints))
	require.Equal(t, "unknown", Point(-1).String())
	require.Equal(t, "unknown", numPoints.String())
}

// The error of an old version has the equivalent document, with each note on one line.
func TestTextOfOldVersions(t *testing.T) {
	err := &OldVersionError{Err: errors.New("no"), Equivalent: []byte("a: 1\n"), Notes: []string{"one\ntwo", "three"}}
	require.Equal(t, "no\nIn kubescheduler.config.k8s.io/v1 it is:\n# one two\n# three\na: 1", err.Error())
	require.Equal(t, "no", (&OldVersionError{Err: errors.New("no"), Notes: []string{"x"}}).Error())
	for _, text := range []string{"", "# nothing\n", "[", "- a\n"} {
		out, notes := convertOld("v1beta1", []byte(text))
		require.Nil(t, out, "%q", text)
		require.Nil(t, notes)
	}
	old := "apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\nplugins: {postFilter: {enabled: [{name: A}]}, preScore: {enabled: [{name: NodeAffinity}]}}\n"
	out, notes := convertOld("v1alpha1", []byte(old))
	require.Contains(t, string(out), "name: NodeAffinity", "the list that has the name of today stays")
	require.NotContains(t, string(out), "name: A\n")
	require.Contains(t, notes, "plugins.postFilter: called preScore now")
	out, _ = convertOld("v1alpha1", []byte("apiVersion: x\nalgorithmSource: {provider: DefaultProvider}\n"))
	require.Equal(t, head+weighed, string(out), "nothing to say but the old weights")
}

// All pods wait in one queue, so every profile must order them alike.
func TestOneQueueSort(t *testing.T) {
	sorted := func(name, by string) Profile {
		p := Profile{SchedulerName: name, Plugins: Plugins{QueueSort: {{Name: by}}}}
		return p
	}
	require.NoError(t, oneQueueSort([]Profile{sorted("a", "x")}))
	require.NoError(t, oneQueueSort([]Profile{sorted("a", "x"), sorted("b", "x")}))
	require.EqualError(t, oneQueueSort([]Profile{sorted("a", "x"), sorted("b", "x"), sorted("c", "y")}), `initializing profiles: different queue sort plugins for profile "c": "y", first: "x"`)
}

// Selectors get a compiler where they have none, once for the filter and the score of a plugin.
func TestWithSelectors(t *testing.T) {
	p := placement.DefaultProfile()
	given := devices.SelectorCompiler(nothing{})
	got, err := WithSelectors(p, given)
	require.NoError(t, err)
	require.Len(t, got.Filters, len(p.Filters))
	require.Len(t, got.Scores, len(p.Scores))
	changed := 0
	for k, f := range got.Filters {
		if _, ok := f.Args.(tracker.Options); !ok {
			require.Same(t, p.Filters[k], f)
			continue
		}
		changed++
		require.NotSame(t, p.Filters[k], f)
		require.Equal(t, given, f.Args.(tracker.Options).Compiler)
	}
	require.Equal(t, 1, changed)
	for k, s := range got.Scores {
		require.Equal(t, p.Scores[k].Weight, s.Weight)
		require.Equal(t, p.Scores[k].Name, s.Name)
	}
	again, err := WithSelectors(got, nothing{more: 1})
	require.NoError(t, err)
	require.Equal(t, got.Filters, again.Filters, "a compiler that is there stays")
}

type nothing struct{ more int }

func (nothing) Compile(string) (devices.Selector, error) { return nil, errors.New("nothing") }
