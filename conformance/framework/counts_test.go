package framework

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/volumes"
)

// compared are the metrics that both sides must agree on after every attempt: of histograms, how often they were observed.
var compared = []string{scheduler.PluginEvaluation, scheduler.BatchAttempts, scheduler.BatchCacheFlushed, scheduler.ExtensionPointDuration}

// tally is scheduler.Metrics that keeps what is compared.
type tally map[string]float64

func (c tally) Set(string, float64, ...string) {}
func (c tally) Observe(name string, _ float64, values ...string) {
	c.Add(name, 1, values...)
}
func (c tally) Add(name string, n float64, values ...string) {
	for _, m := range scheduler.MetricTable() {
		if m.Name == name {
			var labels []string
			for k, l := range m.Labels {
				labels = append(labels, l+"="+values[k])
			}
			c.count(name, labels, n)
		}
	}
}

// count adds what is compared; of the extension points those of the search for a node.
func (c tally) count(name string, labels []string, n float64) {
	slices.Sort(labels)
	key := name + " " + strings.Join(labels, " ")
	searching := func(point string) bool { return strings.Contains(key, "extension_point="+point+" ") }
	if slices.Contains(compared, name) && (name != scheduler.ExtensionPointDuration || slices.ContainsFunc([]string{"PreFilter", "Filter", "PreScore", "Score"}, searching)) {
		c[key] += n
	}
}

// theirs returns what kube-scheduler has counted.
func theirs(t *testing.T) tally {
	t.Helper()
	out := tally{}
	for name, f := range gathered(t, legacyregistry.DefaultGatherer) {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			out.count(name, labels, m.GetCounter().GetValue()+float64(m.GetHistogram().GetSampleCount()))
		}
	}
	return out
}

// since returns what was counted after another moment.
func (c tally) since(before tally) map[string]float64 {
	out := map[string]float64{}
	for k, v := range c {
		if v != before[k] {
			out[k] = v - before[k]
		}
	}
	return out
}

// api is an API server that knows one pod and agrees to everything.
type api struct{ pod *v1.Pod }

func (a *api) Pod(string, string) *v1.Pod                                        { return a.pod }
func (a *api) Bind(context.Context, *v1.Pod, string) error                       { return nil }
func (a *api) PatchStatus(context.Context, *v1.Pod, scheduler.StatusPatch) error { return nil }
func (a *api) WriteClaims(context.Context, *v1.Pod, scheduler.ClaimWrites) error { return nil }
func (a *api) BindVolumes(context.Context, *v1.Pod, volumes.Decision) error      { return nil }
func (a *api) Delete(context.Context, *v1.Pod) error                             { return nil }

// attempts are pods that take different ways through the scheduling cycle.
func attempts() []*v1.Pod {
	pod := func(name, cpu string) *v1.Pod {
		p := testkit.Pod("default/" + name).Request("cpu=" + cpu).Obj()
		p.UID = "uid-" + p.UID
		return p
	}
	nominated := func(p *v1.Pod) *v1.Pod { p.Status.NominatedNodeName = "d"; return p }
	claims := pod("claims", "1")
	claims.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
	choosy := pod("choosy", "1")
	choosy.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "b"}
	tolerant := pod("tolerant", "1")
	tolerant.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	port := pod("port", "1")
	port.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80, ContainerPort: 80, Protocol: v1.ProtocolTCP}}
	return []*v1.Pod{pod("plain", "3"), pod("big", "9"), claims, nominated(pod("nominated", "2")), nominated(pod("nominated-big", "9")), choosy, tolerant, port}
}

// Attempt by attempt, every plugin was asked as often at every point, and batching counted the same.
func TestCounts(t *testing.T) {
	ctx := context.Background()
	s, err := real.Default(ctx)
	require.NoError(t, err)
	var nodes []*v1.Node
	for _, name := range []string{"a", "b", "c", "d"} {
		b := testkit.Node(name).Capacity("cpu=4,memory=8Gi,pods=10")
		if name == "c" {
			b = b.Taint("soft=x:PreferNoSchedule")
		}
		nodes = append(nodes, b.Obj())
	}
	require.NoError(t, s.Load(cluster.Objects{Nodes: nodes}))
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes})
	require.NoError(t, err)
	counts, client, last := tally{}, &api{}, scheduler.Result{}
	mine, err := scheduler.New(snapshot, scheduler.Options{
		Client: client, Metrics: counts, OneByOne: true, Go: func(task func()) { task() }, OnResult: func(r scheduler.Result) { last = r },
		Profiles: []scheduler.Profile{{Plugins: scheduler.Plugins{scheduler.PostFilter: {Disabled: []string{"*"}}}}}, // Schedule has no PostFilter
	})
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, pod := range attempts() {
		before, now := theirs(t), maps.Clone(counts)
		result, theirErr := s.Schedule(pod.DeepCopy())
		want := theirs(t).since(before)
		client.pod = pod
		mine.AddPod(pod)
		require.True(t, mine.TryScheduleOne(ctx))
		require.Equal(t, want, counts.since(now), pod.Name)
		require.Equal(t, theirErr == nil, last.Outcome == scheduler.Scheduled, "%s: %v, %s", pod.Name, theirErr, last.Message)
		if theirErr == nil {
			require.Equal(t, fmt.Sprint(result.SuggestedHost, result.EvaluatedNodes, result.FeasibleNodes), fmt.Sprint(last.Node, last.Evaluated, last.Feasible), pod.Name)
			require.NoError(t, s.Assume(pod, result.SuggestedHost))
		}
		for k := range want {
			seen[k] = true
		}
	}
	require.Greater(t, len(seen), 20)
}
