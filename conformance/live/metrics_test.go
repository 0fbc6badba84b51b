package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/podberth/podberth/scheduler"
)

// unmeasured are metrics of kube-scheduler that podberth does not measure: see conformance/framework.
var unmeasured = []string{"scheduler_get_node_hint_duration_seconds", "scheduler_store_schedule_results_duration_seconds",
	"scheduler_batch_rescore_attempts_total", "scheduler_batch_rescore_duration_seconds", "scheduler_queue_incoming_entities_total"}

// ofGroups are metrics that scenarios of groups must have shown on both sides.
var ofGroups = []string{
	scheduler.GroupAttempts, scheduler.GroupAttemptDuration, scheduler.GroupAlgorithmDuration, scheduler.GroupPreemptionAttempts, scheduler.GroupPreemptionVictims,
	scheduler.PreemptionEvaluationDuration, scheduler.PreemptionExecutionDuration, scheduler.GeneratedPlacements, scheduler.PlacementEvaluations,
	scheduler.PlacementEvaluationDuration, scheduler.PendingPods, scheduler.QueuedEntities,
}

// page returns the scheduler's metrics of a page: type, names of labels and buckets. Values are compared in conformance/podgroup.
func page(t *testing.T, g prometheus.Gatherer) map[string]string {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	out := map[string]string{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "scheduler_") {
			continue
		}
		first := f.GetMetric()[0]
		var labels []string
		var buckets []float64
		for _, l := range first.GetLabel() {
			labels = append(labels, l.GetName())
		}
		slices.Sort(labels)
		for _, b := range first.GetHistogram().GetBucket() {
			buckets = append(buckets, b.GetUpperBound())
		}
		out[f.GetName()] = fmt.Sprint(f.GetType().String(), labels, buckets)
	}
	return out
}

// comparePages requires that the metrics of both pages are alike, and that each page has those of groups.
func comparePages(t *testing.T, registry prometheus.Gatherer) {
	ours, theirs := page(t, registry), page(t, legacyregistry.DefaultGatherer)
	for _, name := range ofGroups {
		require.Contains(t, ours, name)
		require.Contains(t, theirs, name)
	}
	for name, shape := range theirs {
		mine, shown := ours[name]
		switch {
		case slices.Contains(unmeasured, name):
			require.False(t, shown, name)
		case shown:
			require.Equal(t, shape, mine, name)
		default: // podberth shows what it has counted; kube-scheduler shows those without labels always
			require.True(t, slices.ContainsFunc(scheduler.MetricTable(), func(m scheduler.Metric) bool { return m.Name == name }), name)
		}
	}
	for name := range ours {
		require.Contains(t, theirs, name)
	}
}
