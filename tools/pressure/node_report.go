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
	At           time.Time              `json:"at"`                   // the time of the observation
	Layout       pressure.Layout        `json:"layout"`               // "single", "imagefs" or "split": the file systems of the node
	Thresholds   []threshold            `json:"thresholds"`           // the eviction thresholds
	Conditions   []v1.NodeConditionType `json:"conditions"`           // the node conditions that are true, such as MemoryPressure
	Acting       pressure.Signal        `json:"acting"`               // the signal for which the kubelet acts now; "" for none
	Event        string                 `json:"event"`                // the message of the event that the kubelet writes
	Reclaim      []string               `json:"reclaim"`              // what the kubelet deletes on the node before any pod: containerGC, imageGC
	LocalStorage []victim               `json:"localStorage"`         // pods over a limit of their own local storage, which are evicted first
	RankedFor    pressure.Signal        `json:"rankedFor"`            // the signal of the ranking
	Ranking      []rankedPod            `json:"ranking"`              // the pods of the node, first evicted first
	Victim       *victim                `json:"victim,omitempty"`     // the pod that the kubelet evicts now; not there when it evicts none
	Forecast     *forecast              `json:"forecast,omitempty"`   // what follows if usage stays as it is; not there when no threshold is met
	NextChange   *time.Time             `json:"nextChange,omitempty"` // when a grace period or a condition ends by itself; not there when none does
	// What the node offers to pods, a quantity for each resource; empty when the node is not in the input.
	Allocatable map[string]string `json:"allocatable"`
	// What the configuration does otherwise than it looks: no threshold is active, the own thresholds of the kubelet are replaced, a
	// soft threshold never acts.
	Notes []string `json:"notes"`
}

type threshold struct {
	Signal         pressure.Signal `json:"signal"`          // the signal, such as memory.available
	Value          string          `json:"value"`           // the threshold as configured, a quantity or a percentage
	Quantity       string          `json:"quantity"`        // the quantity of a percentage
	GracePeriod    string          `json:"gracePeriod"`     // of a soft threshold, a duration
	MinimumReclaim string          `json:"minimumReclaim"`  // how much more than the threshold must be free, a quantity or a percentage
	Target         string          `json:"target"`          // the quantity at which eviction ends; "" when the signal is not measured
	Observed       string          `json:"observed"`        // the quantity that is available; "" when the signal is not measured
	Capacity       string          `json:"capacity"`        // the quantity that there is in all
	Met            bool            `json:"met"`             // whether less is available than the threshold
	Since          *time.Time      `json:"since,omitempty"` // since when it is met; not there when it is not
	GraceExpired   bool            `json:"graceExpired"`    // whether it is met for longer than the grace period
	// Whether it is met, and nothing newer is measured than at the last observation: the kubelet does not act.
	Stale bool `json:"stale"`
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
	Rank int `json:"rank"` // the place in the ranking of all pods, from 1
	podRef
	ExceedsRequest bool   `json:"exceedsRequest"` // whether the usage is above the request
	Priority       int32  `json:"priority"`       // spec.priority; 0 without
	Measured       bool   `json:"measured"`       // whether the summary has statistics of the pod
	Usage          string `json:"usage"`          // a quantity; "" without statistics
	Request        string `json:"request"`        // a quantity
	Evictable      bool   `json:"evictable"`      // whether the kubelet may evict the pod
	Reason         string `json:"reason"`         // why not
	Place          string `json:"place"`          // which rule puts the pod behind the pod before it
}

type victim struct {
	podRef
	GracePeriodSeconds int64  `json:"gracePeriodSeconds"` // how long the pod has to shut down
	Message            string `json:"message"`            // the kubelet's message
}

type forecast struct {
	Signal  pressure.Signal `json:"signal"`  // the signal
	Target  string          `json:"target"`  // the quantity at which eviction ends
	Cleared bool            `json:"cleared"` // whether the steps are enough
	Steps   []forecastStep  `json:"steps"`   // the pods that are evicted, in order
}

type forecastStep struct {
	podRef
	GracePeriodSeconds int64  `json:"gracePeriodSeconds"` // how long the pod has to shut down
	Frees              string `json:"frees"`              // a quantity
	Available          string `json:"available"`          // the quantity that is available then
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
