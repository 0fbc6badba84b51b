package pressure

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// State is what the kubelet remembers between observations. The zero value is the state of a kubelet that has just started.
// A State can be written as JSON for times up to the year 9999. Observe never modifies its argument.
type State struct {
	Layout     Layout                             `json:"layout,omitempty"`   // the first detected layout
	FirstMet   map[string]time.Time               `json:"firstMet,omitempty"` // by threshold key (signal, value and grace): time since which the threshold is met
	Due        []string                           `json:"due,omitempty"`      // keys of thresholds met for longer than their grace
	LastTrue   map[v1.NodeConditionType]time.Time `json:"lastTrue,omitempty"` // by condition: time of the last observation that raised it
	Measured   map[Signal]time.Time               `json:"measured,omitempty"` // by signal: time of the last measurement
	Conditions []v1.NodeConditionType             `json:"conditions,omitempty"`
}

// Observation is what the kubelet sees at one moment.
type Observation struct {
	Signals map[Signal]Measurement // a signal that is missing here is not measured
	Layout  Layout                 // empty: not detected; Observe decides nothing until the layout was detected once
	Pods    []*v1.Pod              // pods of the node
	Stats   map[types.UID]PodStats
}

// Status is the state of a threshold after an observation.
type Status struct {
	Threshold  Threshold
	Measured   *Measurement      // nil: no measurement, the threshold is not met
	Value      resource.Quantity // the absolute value; zero for a percentage without a measurement
	Target     resource.Quantity // Value plus minimum reclaim: eviction stops here
	Met        bool              // Available is below Value, or below Target after the threshold was due
	Since      time.Time         // time since which the threshold is met; zero: it is not met
	Due        bool              // met for at least its grace
	Actionable bool              // due, and the measurement is newer than the last one
}

// Decision is what to do after an observation.
type Decision struct {
	Waiting    bool                   // the layout is unknown, so nothing was decided
	Thresholds []Status               // in the order in which they act
	Conditions []v1.NodeConditionType // the true conditions: memory, disk, processes
	// LocalStorage are evictions of pods over their own limits. When there is such an eviction, Observe decides nothing
	// else.
	LocalStorage []Eviction
	Acting       *Threshold // the threshold that evicts
	Event        string     // text of the Warning event on the node with reason EvictionThresholdMet; written when there is an Acting
	// Reclaim is done first. Then measure again. If Relieved reports true, no pod is evicted.
	Reclaim  []string
	Ranking  []Ranked  // all active pods, the first one is evicted first; only with Acting
	Eviction *Eviction // eviction of the first pod that is not exempt; nil when there is none
}

// Observe takes one observation and returns the next state and what to do. Call it every 10 s,
// as v1.37's kubelet does whatever its housekeeping-interval is, and again as
// soon as an evicted pod is gone. One observation evicts at most one pod because of pressure (rule E7.2).
//
//  1. A threshold is met while less than its value is available. After it was due, it stays met until its minimum reclaim
//     is available too (rules E3.2 and E3.3).
//  2. A threshold is due when it was met without interruption for its grace period (rule E3.4).
//  3. A due threshold acts only with a measurement newer than that of the previous observation (rule E3.6).
//  4. A condition is true from the first observation that meets a threshold, soft thresholds included. It ends the
//     transition period after the last such observation (rule E3.5).
func (p *Policy) Observe(s State, o Observation, now time.Time) (State, Decision) {
	if len(p.thresholds) == 0 && !p.local {
		return s, Decision{Conditions: slices.Clone(s.Conditions)}
	}
	thresholds := p.Thresholds(s.Layout)
	if s.Layout == "" {
		if o.Layout == "" {
			return s, Decision{Waiting: true, Conditions: slices.Clone(s.Conditions)}
		}
		s.Layout = o.Layout // the first cycle does not have the thresholds that follow from the layout
	}
	d := Decision{Thresholds: p.status(thresholds, s, o, now)}
	next := State{Layout: s.Layout, FirstMet: map[string]time.Time{}, LastTrue: maps.Clone(s.LastTrue), Measured: map[Signal]time.Time{}}
	if next.LastTrue == nil {
		next.LastTrue = map[v1.NodeConditionType]time.Time{}
	}
	for _, t := range d.Thresholds {
		if t.Met {
			next.FirstMet[t.Threshold.key()] = t.Since
			next.LastTrue[t.Threshold.Signal.condition()] = now
		}
		if t.Due {
			next.Due = append(next.Due, t.Threshold.key())
		}
	}
	for signal, m := range o.Signals {
		next.Measured[signal] = m.Time
	}
	for _, c := range conditions {
		if last, ok := next.LastTrue[c]; ok && (last.Equal(now) || now.Sub(last) < p.transition) {
			next.Conditions = append(next.Conditions, c)
		}
	}
	d.Conditions = slices.Clone(next.Conditions)
	p.act(&d, next.Layout, o)
	return next, d
}

// status returns the state of each threshold.
func (p *Policy) status(thresholds []Threshold, s State, o Observation, now time.Time) []Status {
	list := make([]Status, len(thresholds))
	for i, t := range thresholds {
		st := Status{Threshold: t, Value: t.Value.amount(0, p.options), Target: t.target(0, p.options)}
		m, ok := o.Signals[t.Signal]
		if ok {
			st.Measured = &m
			st.Value, st.Target = t.Value.amount(m.Capacity, p.options), t.target(m.Capacity, p.options)
			st.Met = t.met(m, p.options) || slices.Contains(s.Due, t.key()) && t.missed(m, p.options)
		}
		if st.Met {
			st.Since = now
			if since, ok := s.FirstMet[t.key()]; ok {
				st.Since = since
			}
			st.Due = now.Sub(st.Since) >= t.Grace
			st.Actionable = st.Due && (m.Time.IsZero() || m.Time.After(s.Measured[t.Signal]))
		}
		list[i] = st
	}
	return list
}

// act sets what to do.
func (p *Policy) act(d *Decision, l Layout, o Observation) {
	if p.local {
		if d.LocalStorage = localStorage(l, o.Pods, o.Stats, p.options.Release); len(d.LocalStorage) > 0 {
			return
		}
	}
	at := slices.IndexFunc(d.Thresholds, func(t Status) bool { return t.Actionable })
	if at < 0 {
		return
	}
	acting := d.Thresholds[at].Threshold
	d.Acting = &acting
	d.Event = "Attempting to reclaim " + acting.Signal.Resource()
	d.Reclaim = Reclaims(acting.Signal, l)
	d.Ranking = Rank(acting.Signal, l, o.Pods, o.Stats, p.options)
	for i := range d.Ranking {
		r := &d.Ranking[i]
		if r.Exempt != "" {
			continue
		}
		var stats *PodStats
		if st, ok := o.Stats[r.Pod.UID]; ok {
			stats = &st
		}
		d.Eviction = p.evict(acting, *d.Thresholds[at].Measured, r.Pod, stats)
		return
	}
}

// Relieved reports whether no pod needs to be evicted after [Decision.Reclaim] (rule E5.2): for every threshold of every
// signal, soft ones within their grace included, its target is available. s is the state that Observe returned. Signals
// that are not measured count as relieved.
func (p *Policy) Relieved(s State, signals map[Signal]Measurement) bool {
	for _, t := range p.Thresholds(s.Layout) {
		if m, ok := signals[t.Signal]; ok && t.missed(m, p.options) {
			return false
		}
	}
	return true
}

// NextChange returns the earliest time after now at which a soft threshold becomes due or a condition ends without a new
// measurement. ok is false when there is no such time (rule E3.13).
func (p *Policy) NextChange(s State, now time.Time) (time.Time, bool) {
	var next time.Time
	consider := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, t := range p.Thresholds(s.Layout) {
		if since, ok := s.FirstMet[t.key()]; ok {
			consider(since.Add(t.Grace))
		}
	}
	for _, c := range s.Conditions {
		consider(s.LastTrue[c].Add(p.transition))
	}
	return next, !next.IsZero()
}
