package preemption

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// Outcome is how an attempt to preempt ended.
type Outcome uint8

// The outcomes. The zero value is Unschedulable.
const (
	// Unschedulable: nobody gives way.
	Unschedulable Outcome = iota
	// Success: Node and Victims are set.
	Success
	// Error: something failed; the attempt is to be repeated.
	Error
)

// String returns kube-scheduler's name of the outcome.
func (o Outcome) String() string {
	return [...]string{"Unschedulable", "Success", "Error"}[min(o, Error)]
}

// Nomination says what becomes of the preemptor's status.nominatedNodeName.
type Nomination uint8

// The instructions. The zero value leaves the nomination as it is.
const (
	Keep Nomination = iota
	Set             // to Result.Node
	Clear
)

// String returns "keep", "set" or "clear".
func (n Nomination) String() string { return [...]string{"keep", "set", "clear"}[min(n, Clear)] }

// Result is the answer.
type Result struct {
	Outcome Outcome
	// Message is what kube-scheduler says behind "preemption: "; empty on success.
	Message string
	// Err is the failure behind Outcome Error.
	Err        error
	Nomination Nomination
	// Candidate is the node chosen, with the victims; Slot is -1 and the rest empty without success.
	Candidate
	// Criterion is what decided among the candidates.
	Criterion Criterion
	// Candidates are all nodes found: those that break no budget, then the others, each in the order in which they were
	// found; after extenders by name.
	Candidates []Candidate
	// Tried is the number of nodes that were tried.
	Tried int
	// Reasons count the nodes that were tried in vain, by why, in the order of the message; without candidates all other
	// nodes stand there as "Preemption is not helpful for scheduling". Empty when the preemptor was not eligible.
	Reasons []Count
}

// Planner answers requests and keeps its memory between them. The zero value is ready. It belongs to one goroutine; what it
// returned does not change later.
type Planner struct{ run dryRun }

// Preempt answers one request: see Planner.Preempt.
func Preempt(r Request) Result { return new(Planner).Preempt(r) }

// Preempt decides who gives way, as v1.36 does: Eligible, then the nodes whose rejection is Resolvable, by name and from
// Options.Offset on, until CandidateArgs.Number of them are found of which one breaks no budget; then the extenders; then
// Choose.
//
// Without candidates the outcome is Unschedulable and the nomination is cleared, or Error and kept when a node failed.
// Otherwise not eligible and errors keep it. O(nodes + filter checks of 1 + possible victims on each node tried).
func (pl *Planner) Preempt(r Request) Result {
	none := Result{Candidate: Candidate{Slot: -1}}
	if ok, why := Eligible(r); !ok {
		none.Message = why
		return none
	}
	d := &pl.run
	d.prepare(&r)
	defer d.release()
	list, nodes := d.list()
	out := d.visit(list)
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
		none.Nomination, none.Message = Clear, message(nodes, none.Reasons)
		return none
	}
	found, err := r.extend(out.found)
	switch {
	case err != nil:
		none.Outcome, none.Err, none.Message = Error, err, err.Error()
		return none
	case len(found) == 0:
		none.Message = "no candidate node for preemption"
		return none
	}
	best, by := choose(found, r.Now, r.Options.Scores)
	return Result{
		Outcome: Success, Nomination: Set, Candidate: found[best], Criterion: by, Candidates: found,
		Tried: none.Tried, Reasons: none.Reasons,
	}
}

func (d *dryRun) prepare(r *Request) {
	d.r, d.priority = r, Priority(r.Pod)
	if d.index = r.Index; d.index == nil {
		d.index = NewIndex(r.Cluster)
	}
	d.bound, _ = r.WhatIf.(bounder)
	if d.budgets != r.Budgets || d.ledger == nil {
		d.budgets, d.ledger, d.matches = r.Budgets, nil, map[*v1.Pod][]int32{}
		if r.Budgets != nil {
			d.ledger = r.Budgets.Ledger()
		}
	}
	d.findUnits()
	d.pile = nil
}

// release drops what belongs to the request.
func (d *dryRun) release() {
	d.r, d.index, d.bound, d.pile, d.unitOf, d.slots = nil, nil, nil, nil, nil, nil
	clear(d.members)
}

// list returns the slots to try, by name, and the number of nodes.
func (d *dryRun) list() ([]int32, int) {
	order := d.index.byName()
	d.try = d.try[:0]
	for _, i := range order {
		if d.r.rejection(int(i)) == Resolvable {
			d.try = append(d.try, i)
		}
	}
	return d.try, len(order)
}

type visited struct {
	found  []Candidate
	errs   []error
	tried  int
	failed histogram
}

// visit tries the nodes of the list until enough are found.
func (d *dryRun) visit(list []int32) visited {
	var out visited
	n := len(list)
	if n == 0 {
		return out
	}
	enough := d.r.Options.Candidates.Number(n)
	if enough == 0 && d.r.Options.AtLeastOneCandidate {
		enough = 1
	}
	at := ((d.r.Options.Offset % n) + n) % n
	var clean, violating []Candidate
	for out.tried < n {
		i := int(list[at])
		if at++; at == n {
			at = 0
		}
		out.tried++
		o := d.node(i)
		if !o.found {
			if o.err != nil {
				out.errs = append(out.errs, o.err)
			}
			out.failed.add(d.r.WhatIf, i, o)
			continue
		}
		into := &clean
		violations := d.violations()
		if violations > 0 {
			into = &violating
		}
		if len(*into) < enough {
			*into = append(*into, d.candidate(i, violations))
		}
		if len(clean) > 0 && len(clean)+len(violating) >= enough {
			break
		}
	}
	out.found = slices.Concat(clean, violating)
	return out
}
