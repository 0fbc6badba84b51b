package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
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
	require.GreaterOrEqual(t, value(t, registry, QueueIncomingPods, "event=UnscheduledPodAdd", "queue=active"), 5.0)
	require.Equal(t, 1.0, value(t, registry, QueueIncomingPods, "event=ScheduleAttemptFailure", "queue=backoff"))
	require.Equal(t, 4.0, value(t, registry, CacheSize, "type=nodes"))
	require.GreaterOrEqual(t, value(t, registry, UnschedulablePods, "plugin=NodeResourcesFit", profile), 1.0)
	require.Positive(t, value(t, registry, PluginEvaluation, "extension_point=Filter", "plugin=A", profile))
	require.Positive(t, value(t, registry, ExtensionPointDuration, "extension_point=Permit", profile, "status=Wait"))
	require.Positive(t, value(t, registry, EventHandlingDuration, "event=NodeAdd"))
	require.Positive(t, value(t, registry, QueueingHintDuration, "event=NodeAdd|UpdateNodeAllocatable", "hint=QueueSkip", "plugin=NodeResourcesFit"))
	_, err = NewPrometheusMetrics(registry)
	require.ErrorContains(t, err, "metric scheduler_schedule_attempts_total: ", "registered already")
	families, err := registry.Gather()
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, f := range families {
		seen[f.GetName()] = true
	}
	names := map[string]bool{}
	for _, m := range MetricTable() {
		if !m.Groups && m.Name != PodScheduledAfterFlush && m.Name != InflightEvents && m.Name != PluginExecutionDuration { // see TestRareMetrics
			require.True(t, seen[m.Name], m.Name)
		}
		require.False(t, names[m.Name])
		names[m.Name] = true
		require.True(t, strings.HasPrefix(m.Name, "scheduler_"))
		require.Equal(t, m.Kind == Histogram, m.Buckets != nil, m.Name)
	}
	require.Equal(t, []float64{1, 2, 4, 8, 16}, buckets(1, 2, 5))
}

// The rare metrics: events while a pod is in flight, which are dropped with the pod; a pod that the flush of old pods
// returned; and the one attempt in ten in which single plugins are measured.
func TestRareMetrics(t *testing.T) { // W12
	registry := prometheus.NewRegistry()
	metrics, err := NewPrometheusMetrics(registry)
	require.NoError(t, err)
	r := newRig(t, Options{Metrics: metrics, OneByOne: true}, three())
	x := pod("p")
	r.add(x)
	e := r.s.queue.TryPop()
	r.add(testkit.Pod("default/other").On("n1").Obj())
	r.s.Gauges()
	require.Equal(t, 1.0, value(t, registry, InflightEvents, "event=AssignedPodAdd"))
	require.NoError(t, r.s.queue.Return(e, queue.Failure{Rejecters: []string{"NodeName"}}))
	r.s.Gauges()
	require.Zero(t, value(t, registry, InflightEvents, "event=AssignedPodAdd"))
	require.Equal(t, queue.Unschedulable, r.place(x))
	r.clock.advance(10 * time.Minute)
	r.s.Tick()
	r.s.attempts.Store(pluginSamplePeriod - 1)
	r.step()
	require.Equal(t, Scheduled, r.last().Outcome)
	require.Equal(t, 1.0, value(t, registry, PodScheduledAfterFlush))
	require.Equal(t, 3.0, value(t, registry, PluginExecutionDuration, "extension_point=Filter", "plugin=NodeName", "status=Success"))
	r.add(pod("q")).step()
	require.Equal(t, 3.0, value(t, registry, PluginExecutionDuration, "extension_point=Filter", "plugin=NodeName", "status=Success"))
	require.Equal(t, 6.0, value(t, registry, PluginEvaluation, "extension_point=Filter", "plugin=NodeName", "profile=default-scheduler"))
}

// A key of an interface type holds nil.
func TestKeyOfNil(t *testing.T) {
	key, state := NewKey[error]("nothing"), NewState()
	key.Write(state, nil)
	got, err := key.Read(state)
	require.NoError(t, err)
	require.NoError(t, got)
}

// L2.4: v1.37 asks VolumeBinding for the score of every node, also for a pod without claims.
func TestEvaluationsOfStorage(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics, err := NewPrometheusMetrics(registry)
	require.NoError(t, err)
	r := newRig(t, Options{Metrics: metrics, OneByOne: true}, three())
	r.add(pod("p")).step()
	require.Equal(t, Scheduled, r.last().Outcome)
	require.Equal(t, 1.0, value(t, registry, PluginEvaluation, "extension_point=PreScore", "plugin=VolumeBinding", "profile=default-scheduler"))
	require.Equal(t, 3.0, value(t, registry, PluginEvaluation, "extension_point=Score", "plugin=VolumeBinding", "profile=default-scheduler"))
}

// A pod of 15 attempts and more has one label.
func TestAttemptsLabel(t *testing.T) { // W12
	m := &sums{}
	r := newRig(t, Options{Metrics: m}, three())
	for _, n := range []int{1, 14, 15, 16} {
		r.s.scheduled(&attempt{f: r.framework(), entry: &queue.Entry{Attempts: n}})
	}
	times := map[string]int{}
	for key, x := range m.lines {
		if name, label, _ := strings.Cut(key, " ~ "); "scheduler_"+name == PodSchedulingSLIDuration {
			times[label] = x.times
		}
	}
	require.Equal(t, map[string]int{"[1]": 1, "[14]": 1, "[15+]": 2}, times)
}

// Each place of the queue has its number of pods.
func TestPendingGauges(t *testing.T) { // W12
	m := &sums{}
	r := newRig(t, Options{Metrics: m}, three())
	gated := pod("gated")
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}}
	r.add(gated)
	for _, name := range []string{"x", "y", "z"} {
		r.add(sized(name, "9")).step()
	}
	r.s.queue.Read(func(q *queue.Queue) { require.Equal(t, 3, q.Counts().Unschedulable) })
	r.add(pod("a"), pod("b"))
	r.s.Gauges()
	for _, want := range []string{"active 2", "gated 1", "unschedulable 3", "backoff 0"} {
		require.Contains(t, m.lines, "pending_pods = ["+want+"]")
	}
}

// The texts and buckets.
func TestMetricTable(t *testing.T) {
	var out strings.Builder
	for _, m := range MetricTable() {
		fmt.Fprintf(&out, "%s %v\n\t%s\n\t%.6g\n", m.Name, m.Labels, m.Help, m.Buckets)
	}
	testkit.Golden(t, "testdata/metrics.golden", out.String())
}

// The names are those of kube-scheduler.
func TestMetricNames(t *testing.T) {
	var names []string
	for _, m := range MetricTable() {
		names = append(names, strings.TrimPrefix(m.Name, "scheduler_")+"{"+strings.Join(m.Labels, ",")+"}")
	}
	require.ElementsMatch(t, []string{
		"schedule_attempts_total{result,profile}", "scheduling_attempt_duration_seconds{result,profile}", "scheduling_algorithm_duration_seconds{}",
		"pod_scheduling_sli_duration_seconds{attempts}", "pod_scheduling_attempts{}", "pending_pods{queue}", "queue_incoming_pods_total{queue,event}",
		"unschedulable_pods{plugin,profile}", "pod_scheduled_after_flush_total{}", "preemption_victims{}", "preemption_attempts_total{}",
		"framework_extension_point_duration_seconds{extension_point,status,profile}", "plugin_execution_duration_seconds{plugin,extension_point,status}",
		"plugin_evaluation_total{plugin,extension_point,profile}", "permit_wait_duration_seconds{result}", "goroutines{operation}", "cache_size{type}",
		"preemption_goroutines_duration_seconds{result}", "preemption_goroutines_execution_total{result}",
		"batch_attempts_total{profile,result}", "batch_cache_flushed_total{profile,reason}", "event_handling_duration_seconds{event}", "queueing_hint_execution_duration_seconds{plugin,event,hint}", "inflight_events{event}",
		"queued_entities{queue,type}", "preemption_evaluation_duration_seconds{preemptor,result}", "preemption_execution_duration_seconds{preemptor,result}",
		"preemption_pdb_violations_total{preemptor}", "preemption_workload_disruptions{preemptor}", "workload_preemption_attempts_total{result}", "workload_preemption_victims{}",
		"podgroup_schedule_attempts_total{profile,result}", "podgroup_scheduling_attempt_duration_seconds{profile,result}", "podgroup_scheduling_algorithm_duration_seconds{}",
		"generated_placements_total{profile}", "placement_evaluations_total{profile,result}", "placement_evaluation_duration_seconds{profile,result}",
	}, names)
}
