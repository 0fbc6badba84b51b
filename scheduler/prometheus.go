package scheduler

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// PrometheusMetrics are [Metrics] in a Prometheus registry.
type PrometheusMetrics struct {
	counters   map[string]*prometheus.CounterVec
	gauges     map[string]*prometheus.GaugeVec
	histograms map[string]*prometheus.HistogramVec
}

// NewPrometheusMetrics registers all metrics of [MetricTable].
func NewPrometheusMetrics(r prometheus.Registerer) (*PrometheusMetrics, error) {
	p := &PrometheusMetrics{map[string]*prometheus.CounterVec{}, map[string]*prometheus.GaugeVec{}, map[string]*prometheus.HistogramVec{}}
	for _, m := range MetricTable() {
		var c prometheus.Collector
		switch m.Kind {
		case Counter:
			v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
			p.counters[m.Name], c = v, v
		case Gauge:
			v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Labels)
			p.gauges[m.Name], c = v, v
		default:
			v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: m.Buckets}, m.Labels)
			p.histograms[m.Name], c = v, v
		}
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("metric %s: %w", m.Name, err)
		}
	}
	return p, nil
}

// Add adds to a counter.
func (p *PrometheusMetrics) Add(name string, n float64, labels ...string) {
	p.counters[name].WithLabelValues(labels...).Add(n)
}

// Set sets a gauge.
func (p *PrometheusMetrics) Set(name string, value float64, labels ...string) {
	p.gauges[name].WithLabelValues(labels...).Set(value)
}

// Observe adds an observation to a histogram.
func (p *PrometheusMetrics) Observe(name string, value float64, labels ...string) {
	p.histograms[name].WithLabelValues(labels...).Observe(value)
}
