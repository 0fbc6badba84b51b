package extender

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"
	kubeconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/podberth/podberth/scheduler/config"
)

var registerMetrics sync.Once

// kube loads a configuration as kube-scheduler does, until the scheduler could start. It returns the plugin lists of each
// profile by scheduler name and extension point.
func kube(t *testing.T, file string) (map[string]map[string][]config.Entry, *kubeconfig.KubeSchedulerConfiguration, error) {
	t.Helper()
	logger := klog.LoggerWithValues(klog.Background())
	cfg, err := options.LoadConfigFromFile(logger, file)
	if err != nil {
		return nil, nil, err
	}
	if err := validation.ValidateKubeSchedulerConfiguration(cfg); err != nil {
		return nil, nil, err
	}
	registerMetrics.Do(metrics.Register)
	client := fake.NewClientset()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := scheduler.New(ctx, client, informers.NewSharedInformerFactory(client, 0), nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
		scheduler.WithProfiles(cfg.Profiles...), scheduler.WithExtenders(cfg.Extenders...),
		scheduler.WithComponentConfigVersion(cfg.TypeMeta.APIVersion), scheduler.WithParallelism(cfg.Parallelism))
	if err != nil {
		return nil, nil, err
	}
	out := map[string]map[string][]config.Entry{}
	for name, f := range s.Profiles {
		text, err := json.Marshal(f.ListPlugins())
		require.NoError(t, err)
		var sets map[string]struct{ Enabled []config.Entry }
		require.NoError(t, json.Unmarshal(text, &sets))
		out[name] = map[string][]config.Entry{}
		for at, set := range sets {
			if len(set.Enabled) > 0 {
				out[name][at] = set.Enabled
			}
		}
	}
	return out, cfg, nil
}

// sorted puts the errors of a list in order where kube-scheduler has none: it walks a map of the lists with removed plugins.
func sorted(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if list, ok := strings.CutPrefix(text, "["); ok && strings.Count(text, "was invalid in version") > 1 {
		parts := strings.Split(strings.ReplaceAll(strings.TrimSuffix(list, "]"), "), ", ")\n"), "\n")
		slices.Sort(parts)
		return strings.Join(parts, ", ")
	}
	return text
}

// sameConfiguration loads a document on both sides: the same errors, or the same plugins, numbers and arguments.
func sameConfiguration(t *testing.T, document string) (accepted bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte(document), 0o600))
	want, real, wantErr := kube(t, file)
	got, gotErr := config.Load([]byte(document))
	if wantErr != nil || gotErr != nil {
		require.Equal(t, sorted(wantErr), sorted(gotErr), document)
		return false
	}
	require.Len(t, got.Profiles, len(want), document)
	for _, p := range got.Profiles {
		lists := map[string][]config.Entry{}
		for at, list := range p.Plugins {
			lists[at.String()] = list
		}
		require.Equal(t, want[p.SchedulerName], lists, document)
	}
	require.EqualValues(t, real.Parallelism, got.Parallelism)
	require.Equal(t, *real.PercentageOfNodesToScore, got.PercentageOfNodesToScore)
	require.EqualValues(t, real.PodInitialBackoffSeconds, got.PodInitialBackoff.Seconds())
	require.EqualValues(t, real.PodMaxBackoffSeconds, got.PodMaxBackoff.Seconds())
	for k, p := range real.Profiles {
		require.Equal(t, p.SchedulerName, got.Profiles[k].SchedulerName)
		require.Equal(t, p.PercentageOfNodesToScore, got.Profiles[k].Placement.Sampling.Percentage)
		for _, c := range p.PluginConfig {
			if ours, ok := got.Profiles[k].Args[c.Name]; ok {
				require.JSONEq(t, canonical(t, c.Args), canonical(t, ours), c.Name)
			}
		}
	}
	return true
}

// canonical prints arguments without the differences between the published and the internal types: the case of names and the
// version.
func canonical(t *testing.T, args any) string {
	t.Helper()
	text, err := json.Marshal(args)
	require.NoError(t, err)
	var v any
	require.NoError(t, json.Unmarshal(text, &v))
	text, err = json.Marshal(lower(v))
	require.NoError(t, err)
	return string(text)
}

func lower(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if k = strings.ToLower(k); k == "kind" || k == "apiversion" || k == "typemeta" {
				continue
			}
			if x = lower(x); x != nil && x != "" && x != false {
				out[k] = x
			}
		}
		return out
	case []any:
		for k := range v {
			v[k] = lower(v[k])
		}
		if len(v) == 0 {
			return nil
		}
	case string:
		switch v {
		case "10s":
			return float64(10e9)
		case "10m0s":
			return float64(600e9)
		}
	}
	return v
}
