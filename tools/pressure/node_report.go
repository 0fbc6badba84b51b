package pressure

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// nodeReport is the answer, in the form in which it is printed.
type nodeReport struct {
	report.Head
	Node         string                 `json:"node"`
	At           time.Time              `json:"at"`
	Layout       pressure.Layout        `json:"layout"`
	Thresholds   []threshold            `json:"thresholds"`
	Conditions   []v1.NodeConditionType `json:"conditions"`
	Acting       pressure.Signal        `json:"acting"`
	Event        string                 `json:"event"`
	Reclaim      []string               `json:"reclaim"`
	LocalStorage []victim               `json:"localStorage"` // over their own limits: they go first
	RankedFor    pressure.Signal        `json:"rankedFor"`
	Ranking      []rankedPod            `json:"ranking"`
	Victim       *victim                `json:"victim,omitempty"`
	Forecast     *forecast              `json:"forecast,omitempty"`
	NextChange   *time.Time             `json:"nextChange,omitempty"` // what happens by itself next: a grace or a condition ends
	Allocatable  map[string]string      `json:"allocatable"`
	Notes        []string               `json:"notes"` // what the configuration does otherwise than it looks
}

type threshold struct {
	Signal         pressure.Signal `json:"signal"`
	Value          string          `json:"value"`    // as configured
	Quantity       string          `json:"quantity"` // a percentage in absolute terms
	GracePeriod    string          `json:"gracePeriod"`
	MinimumReclaim string          `json:"minimumReclaim"`
	Target         string          `json:"target"`   // where eviction stops
	Observed       string          `json:"observed"` // empty: not measured
	Capacity       string          `json:"capacity"`
	Met            bool            `json:"met"`
	Since          *time.Time      `json:"since,omitempty"`
	GraceExpired   bool            `json:"graceExpired"`
	Stale          bool            `json:"stale"` // no newer measurement than last time: not acted on
}

// podRef names a pod.
type podRef struct {
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func refTo(p *v1.Pod) podRef { return podRef{dump.Name(p), p.Namespace, p.Name} }

// rankedPod is one pod of the ranking.
type rankedPod struct {
	Rank int `json:"rank"`
	podRef
	ExceedsRequest bool   `json:"exceedsRequest"`
	Priority       int32  `json:"priority"`
	Measured       bool   `json:"measured"` // the summary has statistics of the pod
	Usage          string `json:"usage"`    // empty: no statistics
	Request        string `json:"request"`
	Evictable      bool   `json:"evictable"`
	Reason         string `json:"reason"` // why it is not evictable
	Place          string `json:"place"`  // why it stands behind the pod before it
}

type victim struct {
	podRef
	GracePeriodSeconds int64  `json:"gracePeriodSeconds"`
	Message            string `json:"message"`
}

type forecast struct {
	Signal  pressure.Signal `json:"signal"`
	Target  string          `json:"target"`
	Cleared bool            `json:"cleared"`
	Steps   []forecastStep  `json:"steps"`
}

type forecastStep struct {
	podRef
	GracePeriodSeconds int64  `json:"gracePeriodSeconds"`
	Frees              string `json:"frees"`
	Available          string `json:"available"`
}

// only leaves out the pods of other namespaces than that of -n, but for the victims.
func (r *nodeReport) only(t *program.Tables) {
	r.Ranking = slices.DeleteFunc(r.Ranking, func(p rankedPod) bool { return !t.Shows(p.Namespace) })
}

// observe lets the policy look at the observation and puts what it says into words.
func observe(in *input) *nodeReport {
	policy, o := in.setup.policy, in.observation
	state, d := policy.Observe(in.before, o, in.at)
	in.after = state
	r := &nodeReport{
		Head: report.HeadOf("NodePressure"), LocalStorage: []victim{}, Node: in.node, At: in.at, Layout: o.Layout, Event: d.Event, RankedFor: in.rank, Allocatable: map[string]string{},
		Thresholds: []threshold{}, Conditions: append([]v1.NodeConditionType{}, d.Conditions...), Reclaim: append([]string{}, d.Reclaim...),
	}
	r.Notes = notes(in.setup, d.Thresholds)
	for name, q := range in.allocatable {
		r.Allocatable[string(name)] = q.String()
	}
	var short *pressure.Status // the first threshold that is met, or the one that acts
	for i := range d.Thresholds {
		s := &d.Thresholds[i]
		r.Thresholds = append(r.Thresholds, thresholdOf(s))
		if s.Met && (short == nil || d.Acting != nil && !short.Actionable) {
			short = s
		}
	}
	for i := range d.LocalStorage {
		r.LocalStorage = append(r.LocalStorage, evicted(&d.LocalStorage[i]))
	}
	switch {
	case d.Acting != nil:
		r.Acting, r.RankedFor = d.Acting.Signal, d.Acting.Signal
	case r.RankedFor == "" && short != nil:
		r.RankedFor = short.Threshold.Signal
	case r.RankedFor == "":
		r.RankedFor = "memory.available"
	}
	r.Ranking = rankedPods(r.RankedFor, pressure.Rank(r.RankedFor, o.Layout, o.Pods, o.Stats, pressure.Options{}))
	if d.Eviction != nil {
		v := evicted(d.Eviction)
		r.Victim = &v
	}
	if short != nil {
		r.Forecast = foretell(policy.Forecast(short.Threshold, *short.Measured, o), short.Threshold.Signal)
	}
	if next, ok := policy.NextChange(state, in.at); ok {
		next = next.UTC()
		r.NextChange = &next
	}
	return r
}

func thresholdOf(s *pressure.Status) threshold {
	t := threshold{
		Signal: s.Threshold.Signal, Value: s.Threshold.Value.String(), Target: s.Target.String(),
		Met: s.Met, GraceExpired: s.Due, Stale: s.Due && !s.Actionable,
	}
	if s.Threshold.Value.Percent {
		t.Quantity = s.Value.String()
	}
	if s.Threshold.Grace > 0 {
		t.GracePeriod = s.Threshold.Grace.String()
	}
	if m := s.Threshold.MinReclaim; m.Percent || !m.Quantity.IsZero() {
		t.MinimumReclaim = m.String()
	}
	if s.Measured != nil {
		t.Observed, t.Capacity = amount(s.Threshold.Signal, s.Measured.Available), amount(s.Threshold.Signal, s.Measured.Capacity)
	} else {
		t.Target = ""
	}
	if s.Met {
		since := s.Since.UTC()
		t.Since = &since
	}
	return t
}

func amount(s pressure.Signal, n int64) string {
	q := s.Quantity(n)
	return q.String()
}

func evicted(e *pressure.Eviction) victim {
	return victim{refTo(e.Pod), e.GraceSeconds, e.Message}
}

func foretell(f pressure.Forecast, s pressure.Signal) *forecast {
	out := &forecast{Signal: s, Target: f.Target.String(), Cleared: f.Cleared, Steps: []forecastStep{}}
	for _, st := range f.Steps {
		out.Steps = append(out.Steps, forecastStep{refTo(st.Pod), st.GraceSeconds, amount(s, st.Frees), amount(s, st.Available)})
	}
	return out
}

func rankedPods(s pressure.Signal, ranking []pressure.Ranked) []rankedPod {
	out := make([]rankedPod, 0, len(ranking))
	for i := range ranking {
		r := &ranking[i]
		p := rankedPod{Rank: i + 1, podRef: refTo(r.Pod), Measured: r.Measured, ExceedsRequest: r.Exceeds, Priority: r.Priority, Request: amount(s, r.Request), Evictable: r.Exempt == "", Reason: r.Exempt}
		if r.Measured {
			p.Usage = amount(s, r.Usage)
		}
		if i > 0 {
			p.Place = behind(s, &ranking[i-1], r)
		} else {
			p.Place = "first"
		}
		out = append(out, p)
	}
	return out
}

// behind says which rule puts b behind a.
func behind(s pressure.Signal, a, b *pressure.Ranked) string {
	switch {
	case s != "pid.available" && a.Measured != b.Measured:
		return "has statistics"
	case s != "pid.available" && a.Exceeds && !b.Exceeds:
		return "within its request"
	case a.Priority != b.Priority:
		return fmt.Sprintf("priority %d after %d", b.Priority, a.Priority)
	case a.Measured != b.Measured:
		return "has statistics"
	case a.Usage-a.Request != b.Usage-b.Request && s.Resource() == "pids":
		return "fewer processes"
	case a.Usage-a.Request != b.Usage-b.Request && s.Resource() == "inodes":
		return "fewer inodes, less its ephemeral-storage request in bytes"
	case a.Usage-a.Request != b.Usage-b.Request && !b.Exceeds:
		return "more of its request is left"
	case a.Usage-a.Request != b.Usage-b.Request:
		return "less above its request"
	case started(a.Pod) != started(b.Pod):
		return "started earlier"
	}
	return "by name"
}

func started(p *v1.Pod) (at int64) {
	if p.Status.StartTime != nil {
		at = p.Status.StartTime.UnixNano()
	}
	return at
}
