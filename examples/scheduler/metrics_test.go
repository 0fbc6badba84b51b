package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

func value(t *testing.T, r *prometheus.Registry, name string, labels ...string) (out float64) {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var have []string
			for _, l := range m.GetLabel() {
				have = append(have, l.GetName()+"="+l.GetValue())
			}
			if strings.Join(have, ",") != strings.Join(labels, ",") {
				continue
			}
			switch f.GetType().String() {
			case "COUNTER":
				return m.GetCounter().GetValue()
			case "GAUGE":
				return m.GetGauge().GetValue()
			default:
				return float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	t.Fatalf("no %s with %v", name, labels)
	return 0
}

func TestMetrics(t *testing.T) { // W12
	registry := prometheus.NewRegistry()
	metrics, err := NewPrometheusMetrics(registry)
	require.NoError(t, err)
	_, list := probes(1)
	list[0].perPod["waits"] = map[Point]*Status{Permit: NewStatus(Wait)}
	list[0].perPod["fails"] = map[Point]*Status{Filter: bad}
	list[0].timeout = time.Hour
	p, reg := on(list, Filter, Permit)
	r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg, Metrics: metrics}, three(),
		testkit.Pod("default/low").On("n1").Priority(0).Request("cpu=4").Obj())
	r.add(pod("ok")).step()
	r.add(testkit.Pod("default/big").Request("cpu=9").Obj()).step()
	r.add(pod("fails")).step()
	waits := pod("waits")
	r.add(waits).step()
	require.True(t, r.s.waiting.allow(waits.UID, "A"))
	r.work()
	r.add(testkit.Pod("default/gated").Obj())
	r.s.AddNode(node("n4"))
	r.add(testkit.Pod("default/high").NodeSelector("kubernetes.io/hostname=n1").Priority(9).Request("cpu=4").Obj())
	r.step()
	r.step()
	r.s.Gauges()
	const profile = "profile=default-scheduler"
	require.GreaterOrEqual(t, value(t, registry, ScheduleAttempts, profile, "result=scheduled"), 2.0)
	require.GreaterOrEqual(t, value(t, registry, ScheduleAttempts, profile, "result=unschedulable"), 2.0)
	require.Equal(t, 1.0, value(t, registry, ScheduleAttempts, profile, "result=error"))
	require.GreaterOrEqual(t, value(t, registry, PodSchedulingAttempts), 2.0)
	require.GreaterOrEqual(t, value(t, registry, PodSchedulingSLIDuration, "attempts=1"), 2.0)
	require.Equal(t, 1.0, value(t, registry, PermitWaitDuration, "result=Success"))
	require.Equal(t, 1.0, value(t, registry, PreemptionVictims))
	require.GreaterOrEqual(t, value(t, registry, QueueIncomingPods, "event=UnschedulablePodAdd", "queue=active"), 5.0)
	require.Equal(t, 1.0, value(t, registry, QueueIncomingPods, "event=ScheduleAttemptFailure", "queue=backoff"))
	require.Equal(t, 4.0, value(t, registry, CacheSize, "type=nodes"))
	require.GreaterOrEqual(t, value(t, registry, UnschedulablePods, "plugin=NodeResourcesFit", profile), 1.0)
	require.Positive(t, value(t, registry, PluginEvaluation, "extension_point=Filter", "plugin=A", profile))
	require.Positive(t, value(t, registry, ExtensionPointDuration, "extension_point=Permit", profile, "status=Wait"))
	require.Positive(t, value(t, registry, EventHandlingDuration, "event=NodeAdd"))
	require.Positive(t, value(t, registry, QueueingHintDuration, "event=NodeAdd|UpdateNodeAllocatable", "hint=QueueSkip", "plugin=NodeResourcesFit"))
	_, err = NewPrometheusMetrics(registry)
	require.ErrorContains(t, err, "metric scheduler_schedule_attempts_total: ", "registered already")
	names := map[string]bool{}
	for _, m := range MetricTable() {
		require.False(t, names[m.Name])
		names[m.Name] = true
		require.True(t, strings.HasPrefix(m.Name, "scheduler_"))
		require.Equal(t, m.Kind == Histogram, m.Buckets != nil, m.Name)
	}
	require.Equal(t, []float64{1, 2, 4, 8, 16}, buckets(1, 2, 5))
}
