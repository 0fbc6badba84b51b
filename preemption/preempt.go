package preemption

import (
	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// Outcome is the end of an attempt to preempt, by kube-scheduler's name.
type Outcome string

// The outcomes.
const (
	// Unschedulable: there are no victims.
	Unschedulable Outcome = "Unschedulable"
	// Success: Node and Victims of the Result are set.
	Success Outcome = "Success"
	// Error: something failed. The caller repeats the attempt.
	Error Outcome = "Error"
)

// Result is the answer to a [Request].
type Result struct {
	Outcome Outcome
	// Message is what kube-scheduler says behind "preemption: "; empty on success.
	Message string
	// Err is the failure behind Outcome Error.
	Err error
	// ClearNomination is true if the caller clears the preemptor's status.nominatedNodeName. On success the caller sets the
	// nomination to Node. Otherwise the nomination stays.
	ClearNomination bool
	// Candidate is the chosen node with the victims. Without success Slot is -1 and the rest is empty.
	Candidate
	// Criterion is what decided among the candidates, in words, such as "smallest sum of victim priorities"; "" when nothing was chosen.
	Criterion string
	// Candidates are all nodes found: first those that break no budget, then the others, each in the order in which they were
	// found; after extenders by name.
	Candidates []Candidate
	// Tried is the number of nodes that were tried.
	Tried int
	// Reasons are the reasons of the nodes that were tried without success, as "<nodes> <reason>" in the order of Message.
	// Without candidates all other nodes count as "Preemption is not helpful for scheduling". Reasons is empty if the
	// preemptor was not eligible.
	Reasons []string

	again bool // Actions names victims that are leaving already
}

// Planner answers requests and keeps memory between requests. The zero value is ready to use. A Planner belongs to one
// goroutine. A [Result] does not change after [Preempt] returned it. Results of one Planner may share lists of victims, which the
// caller must not change.
type Planner struct{ run dryRun }

// Preempt answers one request: see [Planner.Preempt]. A nil Pod, [Cluster] or [WhatIf] of the request panics.
func Preempt(r Request) Result { return new(Planner).Preempt(r) }

// Preempt decides which pods leave, as v1.37 does:
//
//  1. A preemptor that must not preempt, or that waits for victims, ends here: Unschedulable, the nomination stays.
//  2. The nodes whose rejection is [Resolvable] are tried, sorted by name, from [Options.Offset] on. The search ends when
//     [Options.Candidates] says that enough nodes were found and one of them breaks no disruption budget.
//  3. Without candidates the outcome is [Error] if a filter failed on a node, and the nomination stays. Otherwise the outcome
//     is [Unschedulable], and the nomination is cleared.
//  4. The extenders change the candidates.
//  5. The best candidate is chosen; docs/preemption.md has the criteria.
//
// O(nodes + filter checks of 1 + possible victims on each node tried). A nil Pod, [Cluster] or [WhatIf] of the request panics.
func (pl *Planner) Preempt(r Request) Result {
	none := Result{Outcome: Unschedulable, Candidate: Candidate{Slot: -1}}
	if ok, why := r.eligible(); !ok {
		none.Message = why
		return none
	}
	d := &pl.run
	d.prepare(&r)
	defer d.release()
	nodes := len(d.index.byName())
	out := d.visit()
	none.Tried = out.tried
	if len(out.found) > 0 {
		none.Reasons = out.failed.counts(0)
	} else {
		none.Reasons = out.failed.counts(nodes - out.failed.nodes)
		if len(out.errs) > 0 {
			none.Outcome, none.Err = Error, utilerrors.NewAggregate(out.errs)
			none.Message = none.Err.Error()
			return none
		}
		none.ClearNomination, none.Message = true, message(nodes, none.Reasons)
		return none
	}
	found := out.found
	if len(r.Extenders) > 0 {
		var err error
		switch found, err = r.extend(found); {
		case err != nil:
			none.Outcome, none.Err, none.Message = Error, err, err.Error()
			return none
		case len(found) == 0:
			none.Message = "no candidate node for preemption"
			return none
		}
		d.values = valuesOf(d.values[:0], found, r.Now)
	}
	best, by := choose(found, d.values, r.Options.Scores)
	return Result{
		Outcome: Success, Candidate: found[best], Criterion: by, Candidates: found,
		Tried: none.Tried, Reasons: none.Reasons, again: deletesAgain(r.Options.Release),
	}
}

func (d *dryRun) prepare(r *Request) {
	d.r, d.priority = r, Priority(r.Pod)
	if r.Index != nil {
		d.index = r.Index.memory()
	} else {
		d.index = newIndex(r.Cluster)
	}
	d.bound, _ = r.WhatIf.(bounder)
	d.breaker, _ = r.WhatIf.(interface{ Broken() error })
	if d.budgets != r.Budgets || d.ledger == nil {
		d.budgets, d.ledger, d.matches, d.sweepAt = r.Budgets, nil, map[*v1.Pod][]int32{}, minMatches
		if r.Budgets != nil {
			d.ledger = r.Budgets.Ledger()
		}
	}
	d.findUnits()
	d.rankFor()
	if r.Options.Search != nil {
		d.describe()
		r.Options.Search.Begin()
	}
}

// release drops the references to the request.
func (d *dryRun) release() {
	d.piled = len(d.pile)
	d.r, d.index, d.bound, d.needer, d.breaker, d.pile, d.unitOf, d.slots = nil, nil, nil, nil, nil, nil, nil, nil
	clear(d.members)
	clear(d.clean)
	clear(d.violating)
	clear(d.values)
	for _, c := range d.choices[:d.chosen] {
		c.candidate = Candidate{}
	}
	d.chosen = 0
	clear(d.placed)
	clear(d.asked.Groups)
	d.asked = Problem{Groups: d.asked.Groups[:0]}
}

// appendTries appends the slots to try, in the order of a list of all slots.
func (d *dryRun) appendTries(dst, order []int32) []int32 {
	for _, i := range order {
		if d.r.rejection(int(i)) == Resolvable {
			dst = append(dst, i)
		}
	}
	return dst
}

type visited struct {
	found  []Candidate
	errs   []error
	tried  int
	failed histogram
}

// visit tries nodes until enough candidates are found.
func (d *dryRun) visit() visited {
	var out visited
	x, list := d.keptFor(), d.try
	if x != nil {
		list = x.try
	} else {
		if e, ok := d.r.WhatIf.(interface{ Everywhere() bool }); ok && e.Everywhere() { // every rejection is Resolvable
			list = d.index.byName()
		} else {
			list = d.appendTries(list[:0], d.index.byName())
			d.try = list
		}
		d.pile = make([]Victim, 0, d.piled)
	}
	n := len(list)
	if n == 0 {
		return out
	}
	enough := d.r.Options.Candidates.number(n)
	switch {
	case d.r.Options.Search != nil:
		enough = n
	case enough == 0 && d.r.Options.AtLeastOneCandidate:
		enough = 1
	}
	at := ((d.r.Options.Offset % n) + n) % n
	d.anyFound = false
	d.clean, d.violating = d.clean[:0], d.violating[:0]
	for out.tried < n {
		i := int(list[at])
		if at++; at == n {
			at = 0
		}
		out.tried++
		o, c := d.outcome(x, i, &out.failed)
		if !o.found {
			if o.err != nil {
				out.errs = append(out.errs, o.err)
			}
			continue
		}
		d.anyFound = true
		into := &d.clean
		if c != nil && c.candidate.Violations > 0 || c == nil && d.violations() > 0 {
			into = &d.violating
		}
		if len(*into) < enough {
			if c == nil {
				c = d.spare()
				d.choose(c, i)
			}
			*into = append(*into, c)
		}
		if len(d.clean) > 0 && len(d.clean)+len(d.violating) >= enough {
			break
		}
	}
	d.clean = append(d.clean, d.violating...)
	out.found = make([]Candidate, len(d.clean))
	d.values = d.values[:0]
	for k, c := range d.clean {
		out.found[k] = c.candidate
		d.values = append(d.values, c.at(d.r.Now))
	}
	return out
}
