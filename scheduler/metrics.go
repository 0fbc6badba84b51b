package scheduler

import (
	"strconv"
	"time"

	"github.com/podberth/podberth/queue"
)

// Metrics receives the scheduler's measurements, under kube-scheduler's metric names. Labels are the values of the
// metric's labels, in the order of [MetricTable]. Several goroutines call Metrics.
type Metrics interface {
	Add(name string, n float64, labels ...string)         // counter
	Set(name string, value float64, labels ...string)     // gauge
	Observe(name string, value float64, labels ...string) // histogram, in seconds where it is a duration
}

// Names of the metrics.
const (
	ScheduleAttempts         = "scheduler_schedule_attempts_total"
	AttemptDuration          = "scheduler_scheduling_attempt_duration_seconds"
	AlgorithmDuration        = "scheduler_scheduling_algorithm_duration_seconds"
	PodSchedulingSLIDuration = "scheduler_pod_scheduling_sli_duration_seconds"
	PodSchedulingAttempts    = "scheduler_pod_scheduling_attempts"
	PendingPods              = "scheduler_pending_pods"
	QueueIncomingPods        = "scheduler_queue_incoming_pods_total"
	UnschedulablePods        = "scheduler_unschedulable_pods"
	PodScheduledAfterFlush   = "scheduler_pod_scheduled_after_flush_total"
	PreemptionVictims        = "scheduler_preemption_victims"
	PreemptionAttempts       = "scheduler_preemption_attempts_total"
	ExtensionPointDuration   = "scheduler_framework_extension_point_duration_seconds"
	PluginExecutionDuration  = "scheduler_plugin_execution_duration_seconds"
	PluginEvaluation         = "scheduler_plugin_evaluation_total"
	PermitWaitDuration       = "scheduler_permit_wait_duration_seconds"
	Goroutines               = "scheduler_goroutines"
	CacheSize                = "scheduler_cache_size"
	EventHandlingDuration    = "scheduler_event_handling_duration_seconds"
	QueueingHintDuration     = "scheduler_queueing_hint_execution_duration_seconds"
	InflightEvents           = "scheduler_inflight_events"
	PreemptionTaskDuration   = "scheduler_preemption_goroutines_duration_seconds"
	PreemptionTasks          = "scheduler_preemption_goroutines_execution_total"
	BatchAttempts            = "scheduler_batch_attempts_total"
	BatchCacheFlushed        = "scheduler_batch_cache_flushed_total"
	QueuedEntities           = "scheduler_queued_entities"
)

const pluginSamplePeriod = 10 // one attempt in ten is measured plugin by plugin

// Metric describes one metric.
type Metric struct {
	Name, Help string
	Kind       MetricKind
	Labels     []string
	Buckets    []float64 // of a histogram
	Groups     bool      // it is measured with Options.Groups alone
}

// MetricKind is counter, gauge or histogram.
type MetricKind int

// The kinds of metrics.
const (
	Counter MetricKind = iota
	Gauge
	Histogram
)

func buckets(start, factor float64, n int) []float64 {
	out := make([]float64, n)
	for k := range out {
		out[k] = start
		start *= factor
	}
	return out
}

// MetricTable returns all metrics of the scheduler, as a new slice.
func MetricTable() []Metric {
	fast, slow := buckets(0.00001, 1.5, 20), buckets(0.001, 2, 15)
	return append([]Metric{
		{ScheduleAttempts, "Number of attempts to schedule pods, by the result. A pod counts as scheduled once it is bound.", Counter, []string{"result", "profile"}, nil, false},
		{AttemptDuration, "Scheduling attempt latency in seconds (scheduling algorithm + binding)", Histogram, []string{"result", "profile"}, slow, false},
		{AlgorithmDuration, "Scheduling algorithm latency in seconds", Histogram, nil, slow, false},
		{PodSchedulingSLIDuration, "Latency from a pod's first entry into the active queue to its being scheduled, over all attempts.", Histogram, []string{"attempts"}, buckets(0.01, 2, 20), false},
		{PodSchedulingAttempts, "Number of attempts to successfully schedule a pod.", Histogram, nil, buckets(1, 2, 5), false},
		{PendingPods, "Number of pending pods, by the queue: active, backoff, unschedulable, gated, incomplete or pending.", Gauge, []string{"queue"}, nil, false},
		{QueueIncomingPods, "Number of pods added to scheduling queues by event and queue.", Counter, []string{"queue", "event"}, nil, false},
		{UnschedulablePods, "Number of unschedulable pods by the plugin that rejected or gates them.", Gauge, []string{"plugin", "profile"}, nil, false},
		{PodScheduledAfterFlush, "Number of pods scheduled in the first attempt after a leftover flush moved them.", Counter, nil, nil, false},
		{PreemptionVictims, "Number of selected preemption victims", Histogram, nil, buckets(1, 2, 7), false},
		{PreemptionAttempts, "Total preemption attempts in the cluster till now", Counter, nil, nil, false},
		{ExtensionPointDuration, "Latency for running all plugins of a specific extension point.", Histogram, []string{"extension_point", "status", "profile"}, buckets(0.0001, 2, 12), false},
		{PluginExecutionDuration, "Duration for running a plugin at a specific extension point, in one attempt of ten.", Histogram, []string{"plugin", "extension_point", "status"}, fast, false},
		{PluginEvaluation, "Number of times each plugin was asked at an extension point.", Counter, []string{"plugin", "extension_point", "profile"}, nil, false},
		{PermitWaitDuration, "Duration of waiting on permit.", Histogram, []string{"result"}, slow, false},
		{Goroutines, "Number of running goroutines by the work they do.", Gauge, []string{"operation"}, nil, false},
		{CacheSize, "Number of pods, assumed pods and nodes in the cache.", Gauge, []string{"type"}, nil, false},
		{EventHandlingDuration, "Event handling latency in seconds.", Histogram, []string{"event"}, buckets(0.0001, 2, 12), false},
		{QueueingHintDuration, "Latency for running a queueing hint of a plugin.", Histogram, []string{"plugin", "event", "hint"}, fast, false},
		{InflightEvents, "Number of events kept for pods in flight, by event.", Gauge, []string{"event"}, nil, false},
		{PreemptionTaskDuration, "Duration in seconds of deleting the victims of a preemption.", Histogram, []string{"result"}, buckets(0.01, 2, 20), false},
		{PreemptionTasks, "Number of times the victims of a preemption were deleted, by the result.", Counter, []string{"result"}, nil, false},
		{BatchAttempts, "Number of attempts by what batching of equal pods did for them.", Counter, []string{"profile", "result"}, nil, false},
		{BatchCacheFlushed, "Number of times that what batching keeps was dropped, by reason.", Counter, []string{"profile", "reason"}, nil, false},
		{QueuedEntities, "Number of queued pods without a group and of queued trees of groups, by the queue.", Gauge, []string{"queue", "type"}, nil, false},
	}, groupMetrics()...)
}

func (s *Scheduler) observe(name string, value float64, labels ...string) {
	s.measure(func(m Metrics) { m.Observe(name, value, labels...) })
}

func (s *Scheduler) gauge(name string, value float64, labels ...string) {
	s.measure(func(m Metrics) { m.Set(name, value, labels...) })
}

func (s *Scheduler) count(name string, labels ...string) { s.add(name, 1, labels...) }

func (s *Scheduler) add(name string, n float64, labels ...string) {
	s.measure(func(m Metrics) { m.Add(name, n, labels...) })
}

// metricsNow returns the time if there are Metrics, and the zero time otherwise.
func (s *Scheduler) metricsNow() time.Time {
	if !s.measures() {
		return time.Time{}
	}
	return s.clock.Now()
}

func (s *Scheduler) hinted(plugin, event string, began time.Time, wants bool, err error) {
	if !s.measures() {
		return
	}
	hint := "QueueSkip"
	switch {
	case err != nil:
		hint = "Error"
	case wants:
		hint = "Queue"
	}
	s.observe(QueueingHintDuration, s.clock.Now().Sub(began).Seconds(), plugin, event, hint)
}

func (s *Scheduler) handled(event string, began time.Time) {
	if s.measures() {
		s.observe(EventHandlingDuration, s.clock.Now().Sub(began).Seconds(), event)
	}
}

// point measures all plugins of an extension point.
func (f *Framework) point(at Point, began time.Time, code Code) {
	if f.s.measures() {
		f.s.observe(ExtensionPointDuration, f.s.clock.Now().Sub(began).Seconds(), string(at), code.String(), f.name)
	}
}

// evaluates are the points at which PluginEvaluation counts.
var evaluates = map[Point]bool{PreFilter: true, Filter: true, PreScore: true, Score: true}

func (f *Framework) pluginDone(at Point, p Plugin, st *Status, began time.Time) {
	s := f.s
	if !s.measures() {
		return
	}
	if evaluates[at] && st.Code() != Skip {
		s.count(PluginEvaluation, p.Name(), string(at), f.name)
	}
	if s.attempts.Load()%pluginSamplePeriod == 0 {
		s.observe(PluginExecutionDuration, s.clock.Now().Sub(began).Seconds(), p.Name(), string(at), st.Code().String())
	}
}

// attempted counts an attempt that failed; scheduled counts an attempt that succeeded.
func (s *Scheduler) attempted(a *attempt) {
	result := "error"
	if a.result.Outcome == Rejected {
		result = "unschedulable"
	}
	s.attempt(a, result)
}

func (s *Scheduler) scheduled(a *attempt) {
	s.attempt(a, "scheduled")
	if !s.measures() {
		return
	}
	e := a.entry
	label := strconv.Itoa(e.Attempts)
	if e.Attempts >= 15 {
		label = "15+"
	}
	s.observe(PodSchedulingSLIDuration, s.clock.Now().Sub(e.InitialAttemptTimestamp).Seconds(), label)
	s.observe(PodSchedulingAttempts, float64(e.Attempts))
	if e.WasFlushed {
		s.count(PodScheduledAfterFlush)
	}
}

func (s *Scheduler) attempt(a *attempt, result string) {
	s.count(ScheduleAttempts, result, a.f.name)
	s.observe(AttemptDuration, s.clock.Now().Sub(a.began).Seconds(), result, a.f.name)
}

var incoming = map[queue.Place]string{
	queue.Active: "active", queue.Backoff: "backoff", queue.ErrorBackoff: "backoff", queue.Unschedulable: "unschedulable", queue.Gated: "unschedulable",
}

func (s *Scheduler) countMoves(moves []queue.Move) {
	if !s.measures() {
		return
	}
	for _, m := range moves {
		to, ok := incoming[m.To]
		switch {
		case !ok || m.From == m.To:
		case m.Members == 0:
			s.count(QueueIncomingPods, to, m.Reason)
		case m.From != queue.Nowhere: // the members of a new root have moves of their own
			s.add(QueueIncomingPods, float64(m.Members), to, m.Reason)
		}
	}
}

// Gauges sets the gauges to the present values: running tasks, pending and unschedulable pods, events in flight, the cache. An
// exporter calls Gauges before its metrics are read.
func (s *Scheduler) Gauges() {
	if !s.measures() {
		return
	}
	s.gauge(Goroutines, float64(s.tasks.Load()), "binding")
	s.queue.Read(func(q *queue.Queue) {
		c := q.Counts()
		s.gauge(PendingPods, float64(c.Active), "active")
		s.gauge(PendingPods, float64(c.Backoff), "backoff")
		s.gauge(PendingPods, float64(c.Unschedulable), "unschedulable")
		s.gauge(PendingPods, float64(c.Gated), "gated")
		pods, trees := q.Entities()
		s.entities(pods, "pod")
		if s.groups != nil {
			s.gauge(PendingPods, float64(c.Incomplete), "incomplete")
			s.gauge(PendingPods, float64(c.Pending), "pending")
			s.entities(trees, "podgroup")
		}
		for name, f := range s.profiles {
			for plugin := range f.plugins {
				s.gauge(UnschedulablePods, float64(q.Rejected(name, plugin)), plugin, name)
			}
		}
		events := q.InFlightEvents()
		for event := range s.inflight {
			s.gauge(InflightEvents, float64(events[event]), event)
		}
		for event, n := range events {
			s.gauge(InflightEvents, float64(n), event)
			s.inflight[event] = true
		}
	})
	pods, assumed := s.cache.sizes()
	s.gauge(CacheSize, float64(pods), "pods")
	s.gauge(CacheSize, float64(assumed), "assumed_pods")
	s.cycle.Lock()
	defer s.cycle.Unlock()
	s.gauge(CacheSize, float64(len(s.snapshot.Order())), "nodes")
}
