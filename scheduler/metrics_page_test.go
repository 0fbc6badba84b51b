package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

// unmeasured are the metrics of kube-scheduler v1.37.2 that the scheduler does not have, with the reason.
var unmeasured = []struct{ name, kind, labels, why string }{
	{"scheduler_async_api_call_execution_duration_seconds", "histogram", "call_type, result", "of the gate SchedulerAsyncAPICalls, off by default and not followed"},
	{"scheduler_async_api_call_execution_total", "counter", "call_type, result", "of the gate SchedulerAsyncAPICalls, off by default and not followed"},
	{"scheduler_pending_async_api_calls", "gauge", "call_type", "of the gate SchedulerAsyncAPICalls, off by default and not followed"},
	{"scheduler_batch_rescore_attempts_total", "counter", "profile", "no node is scored again: the scheduler keeps equal work in another way"},
	{"scheduler_batch_rescore_duration_seconds", "histogram", "profile", "no node is scored again: the scheduler keeps equal work in another way"},
	{"scheduler_get_node_hint_duration_seconds", "histogram", "hinted, profile", "how long a step of kube-scheduler's batching takes"},
	{"scheduler_store_schedule_results_duration_seconds", "histogram", "profile", "how long a step of kube-scheduler's batching takes"},
	{"scheduler_dra_bindingconditions_allocations_total", "counter", "driver, profile, status", "waits for devices are not counted by driver; the event BindingConditionsPending and failed attempts show them"},
	{"scheduler_dra_bindingconditions_wait_duration_seconds", "histogram", "driver, profile, status", "waits for devices are not measured by driver; scheduler_framework_extension_point_duration_seconds of PreBind has them"},
	{"dynamic_resource_allocation_resourceclaim_creates_total", "counter", "admin_access, owner_api_group, owner_api_kind, status", "claims for extended resources are not counted; rest_client_requests_total has their requests"},
	{"scheduler_pre_queueing_hint_evaluations_total", "counter", "plugin, result", "of the gate SchedulerPreQueueingHints, off by default and not followed"},
	{"scheduler_queue_incoming_entities_total", "counter", "event, queue, type", "scheduler_queue_incoming_pods_total counts the pods"},
}

// remarks are what podberth-scheduler shows less of a metric that the scheduler has: there equal pods share one search for a node, in which
// no plugin is asked node by node. Options.OneByOne measures them.
var remarks = map[string]string{
	PluginEvaluation:        " in the library with OneByOne; absent in podberth-scheduler: equal pods share a search, in which no plugin is asked node by node",
	PluginExecutionDuration: "; podberth-scheduler: without PreFilter, Filter, PreScore and Score, which are one search",
	ExtensionPointDuration:  "; podberth-scheduler: without PreFilter, Filter, PreScore and Score, which are one search: scheduler_scheduling_algorithm_duration_seconds has it",
}

// others are metrics of libraries that kube-scheduler's page has and podberth-scheduler's has not, with the reason.
var others = []struct{ name, kind, labels, why string }{
	{"informer_processing_latency_seconds", "histogram", "group, name, resource, version", "informers are not measured; podberth_watch_age_seconds tells when a watch brought something last"},
	{"informer_queued_items", "gauge", "group, name, resource, version", "as informer_processing_latency_seconds"},
	{"informer_store_resource_version", "gauge", "group, name, resource, version", "as informer_processing_latency_seconds"},
	{"kubernetes_feature_enabled", "gauge", "name, stage", "the log names each gate that has not its default"},
	{"version_info", "gauge", "binary, component, emulation, min_compat", "there is no emulation of versions; kubernetes_build_info has the libraries' version"},
}

// The table of the metrics. conformance/operator holds it against kube-scheduler.
func TestMetricPage(t *testing.T) {
	var rows []string
	for _, m := range MetricTable() {
		labels := slices.Sorted(slices.Values(m.Labels))
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | equal%s |", m.Name, [...]string{"counter", "gauge", "histogram"}[m.Kind], strings.Join(labels, ", "), remarks[m.Name]))
	}
	for _, m := range unmeasured {
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | absent: %s |", m.name, m.kind, m.labels, m.why))
	}
	slices.Sort(rows)
	var ofLibraries []string
	for _, m := range others {
		ofLibraries = append(ofLibraries, fmt.Sprintf("| %s | %s | %s | absent: %s |", m.name, m.kind, m.labels, m.why))
	}
	testkit.Golden(t, "../docs/reports/metrics.md", `# Metrics

Every metric of kube-scheduler v1.37.2 with all feature gates on, its type and its labels. "equal": podberth-scheduler has it under the
same name, with the same type and labels, and the buckets are the same. `+"`go test ./scheduler -run TestMetricPage -rewrite`"+` writes the page;
`+"`cd conformance && GOWORK=off go test ./operator`"+` holds each row against kube-scheduler, `+"`./framework`"+` the buckets. `+"`./live -run TestMetricPages`"+`
lets the programs podberth-scheduler and kube-scheduler do the same work, asks both for /metrics over HTTPS, and holds the pages to the rows by name, type,
labels and buckets. podberth-scheduler shows a metric with labels once it has a value.

| metric | type | labels | podberth |
| --- | --- | --- | --- |
`+strings.Join(rows, "\n")+`

## Metrics of libraries

What else kube-scheduler's page has, about 190 metrics of the Go runtime, the process, client-go, leader election and the server, podberth-scheduler's has
too, with the same types and labels, except for these:

| metric | type | labels | podberth |
| --- | --- | --- | --- |
`+strings.Join(ofLibraries, "\n")+`

podberth-scheduler has more: `+"`podberth_watch_age_seconds`, `podberth_events_lost_total`, with `--pending-causes` `podberth_pending_pods`, and with `--shadow` `podberth_shadow_decisions_total`"+`.
`)
}
