package feed

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var ageMetric = prometheus.NewDesc("podberth_watch_age_seconds",
	"How long the watch of a resource has brought nothing new, neither a change nor a bookmark, as far as the reads of this metric show.", []string{"resource"}, nil)

// Describe makes the feed a [prometheus.Collector].
func (f *Feed) Describe(out chan<- *prometheus.Desc) { out <- ageMetric }

// Collect sends the age of what the feed knows of each resource whose first list has come.
func (f *Feed) Collect(out chan<- prometheus.Metric) {
	now := time.Now()
	for _, x := range f.sources {
		if age, listed := x.age(now); listed {
			out <- prometheus.MustNewConstMetric(ageMetric, prometheus.GaugeValue, age.Seconds(), x.name)
		}
	}
}

// age returns how long ago age has first seen the version that the watch has reached. listed is false before the first list.
func (x *source) age(now time.Time) (age time.Duration, listed bool) {
	version := x.informer.LastSyncResourceVersion()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.version != version {
		x.version, x.moved = version, now
	}
	return now.Sub(x.moved), version != ""
}
