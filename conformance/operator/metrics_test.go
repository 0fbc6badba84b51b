package operator

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/podberth/podberth/conformance/metricpage"
	"github.com/podberth/podberth/scheduler"
)

// touch lets a metric show itself, which one without a value does not. A vector tells the number of its labels by panicking.
func touch(t *testing.T, metric any) {
	t.Helper()
	v := reflect.ValueOf(metric)
	for labels := 0; labels < 6; labels++ {
		done := func() (ok bool) {
			defer func() { ok = recover() == nil && ok }()
			one := v
			if with := v.MethodByName("WithLabelValues"); with.IsValid() {
				values := make([]reflect.Value, labels)
				for k := range values {
					values[k] = reflect.ValueOf("x")
				}
				one = with.Call(values)[0]
				if one.Kind() == reflect.Interface {
					one = one.Elem()
				}
			}
			if observe := one.MethodByName("Observe"); observe.IsValid() {
				observe.Call([]reflect.Value{reflect.ValueOf(1.0)})
			} else {
				one.MethodByName("Inc").Call(nil)
			}
			return true
		}()
		if done {
			return
		}
	}
	require.Fail(t, "a metric takes no labels", "%T", metric)
}

// ofScheduler says whether a metric is of the scheduler, not of a library.
func ofScheduler(name string) bool {
	return strings.HasPrefix(name, "scheduler_") || strings.Contains(name, "resourceclaim")
}

// page returns of each metric of a scheduler its type, and the names of its labels.
func page(t *testing.T, g prometheus.Gatherer) map[string]string {
	t.Helper()
	families, err := metricpage.Gather(g, ofScheduler)
	require.NoError(t, err)
	out := map[string]string{}
	for name, f := range families {
		out[name] = metricpage.ShapeOf(f).String()
	}
	return out
}

func theirs(t *testing.T) map[string]string {
	t.Helper()
	gates := map[string]bool{}
	for name, s := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		if !s.LockToDefault && name != "AllAlpha" && name != "AllBeta" {
			gates[string(name)] = true
		}
	}
	require.Contains(t, gates, string(features.GenericWorkload))
	require.NoError(t, utilfeature.DefaultMutableFeatureGate.SetFromMap(gates))
	metrics.Register()
	metrics.PodScheduled("p", 1)
	metrics.PodGroupScheduled("p", 1)
	metrics.ObservePlacementEvaluation("r", "p", 1)
	metrics.ActivePods().Inc()
	metrics.UnschedulableReason("a", "p").Inc()
	recorder := metrics.NewMetricsAsyncRecorder(10, time.Hour, make(chan struct{}))
	recorder.ObserveQueueingHintDurationAsync("a", "e", "h", 1)
	recorder.FlushMetrics()
	for _, m := range []any{
		metrics.EventHandlingLatency, metrics.SchedulingAlgorithmLatency, metrics.PreemptionVictims, metrics.PreemptionAttempts, metrics.QueuedEntities,
		metrics.InFlightEvents, metrics.Goroutines, metrics.BatchAttemptStats, metrics.BatchCacheFlushed, metrics.BatchRescoreAttempts,
		metrics.BatchRescoreDuration, metrics.GetNodeHintDuration, metrics.StoreScheduleResultsDuration, metrics.PodSchedulingSLIDuration,
		metrics.PodSchedulingAttempts, metrics.PodScheduledAfterFlush, metrics.PreQueueingHintEvaluations, metrics.FrameworkExtensionPointDuration,
		metrics.PluginExecutionDuration, metrics.PermitWaitDuration, metrics.CacheSize, metrics.PluginEvaluationTotal, metrics.SchedulerQueueIncomingPods,
		metrics.SchedulerQueueIncomingEntities, metrics.PreemptionGoroutinesDuration, metrics.PreemptionGoroutinesExecutionTotal, metrics.AsyncAPICallsTotal,
		metrics.AsyncAPICallDuration, metrics.AsyncAPIPendingCalls, metrics.ResourceClaimCreatesTotal, metrics.PodGroupSchedulingAlgorithmLatency,
		metrics.GeneratedPlacementsTotal, metrics.DRABindingConditionsAllocationsTotal, metrics.DRABindingConditionsPreBindDuration,
		metrics.WorkloadPreemptionAttempts, metrics.WorkloadPreemptionVictims, metrics.PreemptionWorkloadDisruptions, metrics.PreemptionEvaluationDuration,
		metrics.PreemptionExecutionDuration, metrics.PreemptionPDBViolations,
	} {
		touch(t, m)
	}
	return page(t, legacyregistry.DefaultGatherer)
}

func ours(t *testing.T) map[string]string {
	t.Helper()
	registry, err := metricpage.Show(scheduler.MetricTable())
	require.NoError(t, err)
	return page(t, registry)
}

// The table has the metrics that kube-scheduler shows when all feature gates are on, and no others, each with its type and labels. podberth
// shows the metrics that the table calls equal.
func TestPage(t *testing.T) {
	rows, err := metricpage.Table("../../docs/reports/metrics.md")
	require.NoError(t, err)
	table, here, there := map[string]string{}, ours(t), theirs(t)
	for _, r := range rows {
		if !ofScheduler(r.Name) {
			continue // live.TestMetricPages
		}
		table[r.Name] = r.Shape
		if r.Library {
			require.Equal(t, r.Shape, here[r.Name], r.Name)
		} else {
			require.NotContains(t, here, r.Name)
		}
	}
	require.Equal(t, there, table)
}
