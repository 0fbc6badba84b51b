// Package framework compares the reference scheduler with kube-scheduler where no single package of the library answers: the
// metrics, and the batching of equal pods.
package framework

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/podberth/podberth/conformance/metricpage"
	"github.com/podberth/podberth/scheduler"
)

// touch lets the metrics of kube-scheduler show themselves, which those without a value do not.
func touch() {
	metrics.Register()
	metrics.PodScheduled("p", 1)
	metrics.SchedulingAlgorithmLatency.Observe(1)
	metrics.PodSchedulingSLIDuration.WithLabelValues("1").Observe(1)
	metrics.PodSchedulingAttempts.Observe(1)
	metrics.ActivePods().Inc()
	metrics.SchedulerQueueIncomingPods.WithLabelValues("q", "e").Inc()
	metrics.UnschedulableReason("a", "p").Inc()
	metrics.PodScheduledAfterFlush.Inc()
	metrics.PreemptionVictims.Observe(1)
	metrics.PreemptionAttempts.Inc()
	metrics.PreemptionGoroutinesDuration.WithLabelValues("r").Observe(1)
	metrics.PreemptionGoroutinesExecutionTotal.WithLabelValues("r").Inc()
	metrics.FrameworkExtensionPointDuration.WithLabelValues("x", "s", "p").Observe(1)
	metrics.PluginExecutionDuration.WithLabelValues("a", "x", "s").Observe(1)
	metrics.PluginEvaluationTotal.WithLabelValues("a", "x", "p").Inc()
	metrics.PermitWaitDuration.WithLabelValues("r").Observe(1)
	metrics.Goroutines.WithLabelValues("o").Inc()
	metrics.CacheSize.WithLabelValues("t").Inc()
	metrics.EventHandlingLatency.WithLabelValues("e").Observe(1)
	metrics.InFlightEvents.WithLabelValues("e").Inc()
	metrics.BatchAttemptStats.WithLabelValues("p", "r").Inc()
	metrics.BatchCacheFlushed.WithLabelValues("p", "r").Inc()
	metrics.ActiveEntities(metrics.Pod).Inc()
	stop := make(chan struct{})
	defer close(stop)
	recorder := metrics.NewMetricsAsyncRecorder(10, time.Hour, stop)
	recorder.ObserveQueueingHintDurationAsync("a", "e", "h", 1)
	recorder.FlushMetrics()
}

func gathered(t *testing.T, g prometheus.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	out, err := metricpage.Gather(g, func(name string) bool { return strings.HasPrefix(name, "scheduler_") })
	require.NoError(t, err)
	return out
}

// rescores returns how often kube-scheduler has scored a last node again.
func rescores(t *testing.T) float64 {
	t.Helper()
	n := 0.0
	for _, m := range gathered(t, legacyregistry.DefaultGatherer)[metricpage.Rescored].GetMetric() {
		n += m.GetCounter().GetValue()
	}
	return n
}

// Every metric is called as kube-scheduler's, is of the same kind, and has the same labels and buckets.
func TestMetrics(t *testing.T) {
	touch()
	theirs := gathered(t, legacyregistry.DefaultGatherer)
	table := slices.DeleteFunc(scheduler.MetricTable(), func(m scheduler.Metric) bool { return m.Groups }) // see conformance/podgroup
	registry, err := metricpage.Show(table)
	require.NoError(t, err)
	ours := gathered(t, registry)
	require.Len(t, ours, len(table))
	for name, f := range ours {
		require.Contains(t, theirs, name)
		require.Equal(t, metricpage.ShapeOf(theirs[name]), metricpage.ShapeOf(f), name)
	}
	for name := range ours {
		delete(theirs, name)
	}
	require.Subset(t, metricpage.Unmeasured, slices.Collect(maps.Keys(theirs)))
}
