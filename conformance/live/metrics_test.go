package live

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/podberth/podberth/conformance/metricpage"
	"github.com/podberth/podberth/scheduler"
)

// ofGroups are metrics that scenarios of groups must have shown on both sides.
var ofGroups = []string{
	scheduler.GroupAttempts, scheduler.GroupAttemptDuration, scheduler.GroupAlgorithmDuration, scheduler.GroupPreemptionAttempts, scheduler.GroupPreemptionVictims,
	scheduler.PreemptionEvaluationDuration, scheduler.PreemptionExecutionDuration, scheduler.GeneratedPlacements, scheduler.PlacementEvaluations,
	scheduler.PlacementEvaluationDuration, scheduler.PendingPods, scheduler.QueuedEntities,
}

// page returns the scheduler's metrics of a page: type, names of labels and buckets. Values are compared in conformance/podgroup.
func page(t *testing.T, g prometheus.Gatherer) map[string]metricpage.Shape {
	t.Helper()
	families, err := metricpage.Gather(g, func(name string) bool { return strings.HasPrefix(name, "scheduler_") })
	require.NoError(t, err)
	out := map[string]metricpage.Shape{}
	for name, f := range families {
		out[name] = metricpage.ShapeOf(f)
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
		case slices.Contains(metricpage.Unmeasured, name):
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
