package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/scheduler/config"
)

// Random lists of plugins have the same meaning as in a configuration file: the same plugins at every point in the same
// order, the same weights, the same refusals. conformance compares the reading of configuration files with
// kube-scheduler's.
func TestListsAgreeWithConfigurations(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var names []string
	for _, p := range DefaultPlugins()[MultiPoint].Enabled {
		names = append(names, p.Name)
	}
	registry := mustScheduler(t, Options{}).Profile("default-scheduler")
	fields := map[Point]string{PreEnqueue: "preEnqueue", PreFilter: "preFilter", Filter: "filter", PostFilter: "postFilter", PreScore: "preScore", Score: "score",
		Reserve: "reserve", PreBind: "preBind", Bind: "bind", MultiPoint: "multiPoint"}
	type ref struct {
		Name   string `json:"name"`
		Weight int64  `json:"weight,omitempty"`
	}
	rounds, kinds := 1000, 5
	if testing.Short() {
		rounds, kinds = 100, 3
	}
	accepted, refused := 0, map[string]int{}
	for range rounds {
		profile, document := Profile{Plugins: Plugins{}}, map[string]any{}
		for _, at := range append(Points(), MultiPoint) {
			field, ok := fields[at]
			if !ok || r.IntN(3) > 0 {
				continue
			}
			var set PluginSet
			var enabled, disabled []ref
			for range r.IntN(4) {
				p := PluginRef{Name: names[r.IntN(len(names))]}
				if at != MultiPoint && !implements(at, registry.plugins[p.Name]) && r.IntN(40) > 0 {
					continue
				}
				if set.enables(p.Name) && r.IntN(20) > 0 {
					continue
				}
				if at == Score || at == MultiPoint {
					p.Weight = int64(r.IntN(4))
					if r.IntN(20) == 0 {
						p.Weight = -p.Weight
					}
				}
				set.Enabled, enabled = append(set.Enabled, p), append(enabled, ref(p))
			}
			for range r.IntN(3) {
				name := names[r.IntN(len(names))]
				if r.IntN(10) == 0 {
					name = "*"
				}
				set.Disabled, disabled = append(set.Disabled, name), append(disabled, ref{Name: name})
			}
			profile.Plugins[at] = set
			document[field] = map[string]any{"enabled": enabled, "disabled": disabled}
		}
		text, err := json.Marshal(map[string]any{
			"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
			"profiles": []any{map[string]any{"schedulerName": "default-scheduler", "plugins": document}},
		})
		require.NoError(t, err)
		c, want := config.Load(text)
		s, got := New(mustSnapshot(t), Options{Client: &server{}, Profiles: []Profile{profile}})
		require.Equal(t, want == nil, got == nil, "%s\n%v\n%v", text, want, got)
		if want != nil {
			cause := got.Error()[strings.LastIndex(got.Error(), ": ")+1:]
			refused[cause[:min(20, len(cause))]]++
			if !strings.Contains(cause, "already registered") && !strings.Contains(cause, "does not extend") { // several errors are possible at once
				require.ErrorContains(t, want, cause, "%s", text)
			}
			continue
		}
		accepted++
		for _, at := range Points() {
			var theirs []string
			for _, k := range config.Points() {
				if k.String() != string(at) {
					continue
				}
				for _, p := range c.Profiles[0].Plugins[k] {
					theirs = append(theirs, p.Name)
					if at == Score {
						theirs[len(theirs)-1] += fmt.Sprint("=", p.Weight)
					}
				}
			}
			require.Equal(t, strings.Join(theirs, " "), list(s.Profile("default-scheduler"), at), "%s: %s", at, text)
		}
	}
	require.Greater(t, accepted, rounds*7/10)
	require.GreaterOrEqual(t, len(refused), kinds, "%v", refused)
}

// A profile whose scores are all without a rule of their own has no plan: a plan without scores ends the search at the first node.
// VolumeBinding of v1.36 is such a score.
func TestPlanNeedsAScore(t *testing.T) {
	only := func(name string, preScore ...PluginRef) *Framework {
		none := []string{"*"}
		return mustScheduler(t, Options{Release: release.V1_36, Profiles: []Profile{{Plugins: Plugins{
			PreScore: {Enabled: preScore, Disabled: none}, Score: {Enabled: refs(name), Disabled: none},
		}}}}).Profile("default-scheduler")
	}
	require.NotNil(t, only("ImageLocality").plan)
	require.NotNil(t, only("NodeAffinity", refs("NodeAffinity")...).plan)
	volumes := only("VolumeBinding", refs("VolumeBinding")...)
	require.Nil(t, volumes.plan)
	require.True(t, volumes.HasScorePlugins())
}

// A score that skips the pod gives every node 0.
func TestScoreThatSkips(t *testing.T) {
	s := mustScheduler(t, Options{})
	skips := &placement.Plugin{Name: "Skips", Score: func(*v1.Pod, placement.Cluster) (placement.Scorer, error) { return nil, nil }}
	got, st := newScores(adapterBase{name: "Skips", h: &Handle{s: s}, plugin: skips}).Score(context.Background(), NewState(), pod("p"), s.nodes.named("n1"))
	require.True(t, st.Success())
	require.Zero(t, got)
}

func mustScheduler(t *testing.T, o Options) *Scheduler {
	t.Helper()
	o.Client = &server{}
	s, err := New(mustSnapshot(t), o)
	require.NoError(t, err)
	return s
}

func (s PluginSet) enables(name string) bool {
	return slices.ContainsFunc(s.Enabled, func(p PluginRef) bool { return p.Name == name })
}
