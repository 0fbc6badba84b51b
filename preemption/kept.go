package preemption

import (
	"time"

	"github.com/podberth/podberth/eviction/disruption"
)

// kept is what equal preemptors share.
type kept struct {
	index      *index
	states     uint64
	rejections uint64
	forgotten  uint64 // of the index
	order      uint64 // of the index, of try
	budgets    *disruption.Budgets
	toBroken   bool    // chargesToBroken
	try        []int32 // the slots to try, sorted by node name
	slots      []keptSlot
}

// keptSlot is the outcome of one slot.
type keptSlot struct {
	at      uint64 // the index's changes when the slot was tried; 0: nothing is kept
	outcome outcome
	choice  *choice // nil without victims
}

// choice is a candidate with what choose compares.
type choice struct {
	candidate Candidate
	values    criteria
	undated   bool      // a pod that could leave has no start time
	latest    time.Time // start of the pods that could leave and have one
	now       bool      // the start in values is that of the request
}

// maxKept bounds the slots of all kinds together. Beyond it all kinds are forgotten.
const maxKept = 1 << 18

// keptFor returns what is kept for the request; nil when nothing may be kept. Request.WhatIf has the method Kept if equal preemptors
// may share work.
func (d *dryRun) keptFor() *kept {
	w, ok := d.r.WhatIf.(interface {
		// Kept returns a pointer that is the same for preemptors of one priority that the filters judge alike, and nil when nothing
		// may be kept. As long as states is the same, only a change that Index.Touch reports of a slot changes the answers about
		// that slot. As long as rejections is the same, Request.Rejections is the same.
		Kept() (kind any, states, rejections uint64)
	})
	if !ok || !d.plain() {
		return nil
	}
	kind, states, rejections := w.Kept()
	if kind == nil {
		return nil
	}
	x, n := d.kept[kind], d.r.Cluster.Len()
	if x == nil {
		if d.keptSlots += n; d.kept == nil || d.keptSlots > maxKept {
			d.kept, d.keptSlots = map[any]*kept{}, n
		}
		x = &kept{}
		d.kept[kind] = x
	}
	toBroken := chargesToBroken(d.r.Options.Release)
	if x.index != d.index || x.states != states || x.forgotten != d.index.forgotten || x.budgets != d.budgets || x.toBroken != toBroken || len(x.slots) != n {
		*x = kept{index: d.index, states: states, forgotten: d.index.forgotten, budgets: d.budgets, toBroken: toBroken, slots: make([]keptSlot, n)}
	}
	if order := d.index.byName(); x.rejections != rejections || x.order != d.index.sorts {
		x.rejections, x.order, x.try = rejections, d.index.sorts, d.appendTries(x.try[:0], order)
	}
	return x
}

// plain reports whether nothing but the cluster, the budgets, and the preemptor decides about a node, and the caller has an index.
func (d *dryRun) plain() bool {
	o := &d.r.Options
	return d.simple() && o.Search == nil && o.MoreImportant == nil && !o.NeverViolate && d.r.Index != nil
}

// outcome returns the outcome of slot i, and its choice if the choice is made already. It tries the node if nothing is kept.
func (d *dryRun) outcome(x *kept, i int, failed *histogram) (outcome, *choice) {
	if x == nil {
		if c := d.byAmounts(i); c != nil {
			return outcome{found: true}, c
		}
		o := d.node(i)
		if !o.found {
			failed.add(d.r.WhatIf, i, o)
		}
		return o, nil
	}
	s := &x.slots[i]
	if s.at <= d.index.changedAt(i) || s.choice != nil && !s.choice.holds(d.r.Now) {
		*s = keptSlot{at: d.index.changes + 1, outcome: d.node(i)}
		if s.outcome.found {
			s.choice = &choice{}
			d.choose(s.choice, i)
		}
	}
	if !s.outcome.found && !failed.add(d.r.WhatIf, i, s.outcome) || s.choice != nil && !s.choice.holds(d.r.Now) {
		s.at = 0
	}
	return s.outcome, s.choice
}

// holds reports whether the choice is that of a request at the time. Pods without start time, which started at that time, are ordered
// behind all others then.
func (c *choice) holds(now time.Time) bool { return !c.undated || c.latest.Before(now) }

// spare returns memory for a choice that nobody keeps.
func (d *dryRun) spare() *choice {
	if d.chosen == len(d.choices) {
		d.choices = append(d.choices, &choice{})
	}
	d.chosen++
	return d.choices[d.chosen-1]
}

// choose makes the choice of slot i, whose victims were found.
func (d *dryRun) choose(c *choice, i int) {
	*c = choice{candidate: d.candidate(i, d.violations())}
	c.undated, c.latest = dates(d.members)
	c.values = c.candidate.values(d.r.Now)
	c.now = c.undated && c.values.start.Equal(d.r.Now)
}

// dates reports whether a pod has no start time, and returns the latest start of the others.
func dates(pods []member) (undated bool, latest time.Time) {
	for k := range pods {
		at := pods[k].Pod.Status.StartTime
		switch {
		case at == nil:
			undated = true
		case at.After(latest):
			latest = at.Time
		}
	}
	return undated, latest
}

// at returns what choose compares for a request at the time.
func (c *choice) at(now time.Time) *criteria {
	if !c.now {
		return &c.values
	}
	v := c.values
	v.start = now
	return &v
}
