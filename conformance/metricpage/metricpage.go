// Package metricpage reads what a registry shows of metrics, for comparing podberth's page with kube-scheduler's.
package metricpage

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/podberth/podberth/scheduler"
)

// Unmeasured are metrics of kube-scheduler that podberth does not measure: how long batching takes, how often v1.37 scores the last node
// again, which podberth does not do, and how many pods and groups of pods come into the queue of v1.37, where
// scheduler_queue_incoming_pods_total counts pods.
var Unmeasured = []string{"scheduler_get_node_hint_duration_seconds", "scheduler_store_schedule_results_duration_seconds",
	Rescored, "scheduler_batch_rescore_duration_seconds", "scheduler_queue_incoming_entities_total"}

// Rescored is the metric that counts how often batching scored the last node again, since v1.37.
const Rescored = "scheduler_batch_rescore_attempts_total"

// Show returns a registry in which each metric of a table of podberth's has a value.
func Show(table []scheduler.Metric) (prometheus.Gatherer, error) {
	registry := prometheus.NewRegistry()
	m, err := scheduler.NewPrometheusMetrics(registry)
	if err != nil {
		return nil, err
	}
	for _, x := range table {
		switch labels := x.Labels; x.Kind {
		case scheduler.Counter:
			m.Add(x.Name, 1, labels...)
		case scheduler.Gauge:
			m.Set(x.Name, 1, labels...)
		default:
			m.Observe(x.Name, 1, labels...)
		}
	}
	return registry, nil
}

// Gather returns the metrics of a registry with the names that shown accepts, by name.
func Gather(g prometheus.Gatherer, shown func(name string) bool) (map[string]*dto.MetricFamily, error) {
	families, err := g.Gather()
	out := map[string]*dto.MetricFamily{}
	for _, f := range families {
		if shown(f.GetName()) {
			out[f.GetName()] = f
		}
	}
	return out, err
}

// Shape is what a page says of a metric besides its values.
type Shape struct {
	Type    dto.MetricType
	Labels  []string // names, sorted
	Buckets []float64
}

// ShapeOf returns the shape of a metric that has a value.
func ShapeOf(f *dto.MetricFamily) Shape {
	s := Shape{Type: f.GetType()}
	for _, l := range f.GetMetric()[0].GetLabel() {
		s.Labels = append(s.Labels, l.GetName())
	}
	for _, b := range f.GetMetric()[0].GetHistogram().GetBucket() {
		s.Buckets = append(s.Buckets, b.GetUpperBound())
	}
	slices.Sort(s.Labels)
	return s
}

// String returns type and labels, as the table has them: "counter profile, result".
func (s Shape) String() string {
	return strings.ToLower(s.Type.String()) + " " + strings.Join(s.Labels, ", ")
}

// Row is what the table of docs/reports says of a metric of kube-scheduler.
type Row struct {
	Name    string
	Shape   string // as that of [Shape.String]
	Library bool   // package scheduler has it
	Program bool   // podberth-scheduler shows it once it has a value
}

var row = regexp.MustCompile(`(?m)^\| ([a-z0-9_]+) \| ([a-z]+) \| ([a-z_, ]*?) ?\| (equal|equal; .*|equal in the library .*; absent in podberth-scheduler: .*|absent: .*) \|$`)

// Table reads the table.
func Table(file string) (out []Row, err error) {
	text, err := os.ReadFile(file)
	for _, r := range row.FindAllStringSubmatch(string(text), -1) {
		out = append(out, Row{r[1], r[2] + " " + r[3], strings.HasPrefix(r[4], "equal"), !strings.Contains(r[4], "absent")})
	}
	return out, err
}
