package preemption

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/podgroup"
)

// dryRun searches victims on one node after the other. It keeps its slices between nodes and between calls.
type dryRun struct {
	r        *Request
	priority int32
	ledger   *disruption.Ledger
	budgets  *disruption.Budgets
	matches  map[*v1.Pod][]int32 // budgets of the pods that were possible victims, for the same budgets
	sweepAt  int                 // number of matches at which those of pods that left are dropped
	index    *index
	bound    bounder
	breaker  interface{ Broken() error } // nil: Add and Remove of the WhatIf cannot fail
	unitOf   map[podName]int             // unit of Options.Units; nil: there are none
	slots    [][]int                     // slots of the units' pods; -1: no slot

	units   []unit
	members []member
	seen    []int // units of several pods that the node at hand has seen
	try     []int32
	pile    []Victim
	placed  []Placed
	asked   Problem

	clean, violating []*choice
	values           []*criteria
	choices          []*choice // memory that requests share
	chosen           int       // how many of them the request uses
	piled            int       // victims of the request before
	kept             map[any]*kept
	keptSlots        int
	needer           needer // nil: pods are removed from what the filters have counted
	rankings         rankings

	anyFound bool // a node before has victims
}

type podName struct{ namespace, name string }

// unit is a set of pods that leave together: members[from:to].
type unit struct {
	from, to  int
	priority  int32
	kind      podgroup.Kind
	start     time.Time
	foreign   bool // no pod of the unit is on the node
	violating bool
	out       bool // the unit does not come back
}

type member struct {
	Placed
	violates bool
}

// bounder is the optional method of a WhatIf.
type bounder interface {
	Without(i int, left []int64) Answer
}

// outcome is the result for one node.
type outcome struct {
	found  bool
	answer Answer // why not, if a filter rejects the node
	reason string // why not, otherwise
	err    error
}

// node tries slot i. The victims are the units of d.units whose out is true.
func (d *dryRun) node(i int) outcome {
	o, certain := d.hopeless(i)
	if certain {
		return o
	}
	if search := d.r.Options.Search; search != nil && search.Exclude(d.problem(i)) {
		return outcome{reason: refusedReason}
	}
	d.units, d.members, d.seen = d.units[:0], d.members[:0], d.seen[:0]
	d.collectLocal(i)
	switch {
	case len(d.units) == 0:
		o = outcome{reason: noVictims}
	case d.r.Options.Search != nil && d.r.Options.CrossNode != nil: // one search over all pods
	default:
		if o = d.search(i); o.found || o.err != nil {
			return o
		}
	}
	if d.r.Options.CrossNode == nil {
		return o
	}
	return d.across(i, o)
}

// simple reports whether every pod of lower priority on a node may leave on its own, and no pod of another node.
func (d *dryRun) simple() bool {
	return d.r.Options.Eligible == nil && d.unitOf == nil && d.r.Options.CrossNode == nil
}

// hopeless returns the outcome of a node that needs no search, and true if the outcome is certain.
func (d *dryRun) hopeless(i int) (outcome, bool) {
	if !d.simple() {
		return outcome{}, false
	}
	if d.index.level(i).lowest >= d.priority {
		return outcome{reason: noVictims}, true
	}
	if d.bound == nil {
		return outcome{}, false
	}
	left, exact := d.index.left(i, d.priority)
	if !exact {
		return outcome{}, false
	}
	a := d.bound.Without(i, left)
	return outcome{answer: a}, a.Verdict != 0
}

// collectLocal adds the pods of slot i that may be victims.
func (d *dryRun) collectLocal(i int) {
	pods := d.index.level(i).pods
	for k := range pods {
		d.collect(i, &pods[k], false)
	}
}

// collect adds the pod, or the unit of the pod, as a possible victim.
func (d *dryRun) collect(i int, q *resident, foreign bool) {
	if k, ok := d.unitOf[podName{q.pod.Namespace, q.pod.Name}]; ok {
		d.collectUnit(i, k, foreign)
		return
	}
	if q.priority >= d.priority || d.r.Options.Eligible != nil && !d.r.Options.Eligible(i, q.pod, d.r.Pod) {
		return
	}
	n, at := len(d.members), q.start
	if !q.started {
		at = d.r.Now
	}
	d.members = append(d.members, member{Placed: Placed{q.pod, i}})
	d.units = append(d.units, unit{from: n, to: n + 1, priority: q.priority, start: at, foreign: foreign})
}

// search finds victims among the units. It gives the node up if the WhatIf could not follow an added or removed pod.
func (d *dryRun) search(i int) outcome {
	o := d.victims(i)
	if d.breaker != nil {
		if err := d.breaker.Broken(); err != nil {
			return outcome{err: err}
		}
	}
	return o
}

// victims removes all units and lets units come back while the preemptor fits.
func (d *dryRun) victims(i int) outcome {
	if d.r.Options.Search != nil {
		return d.solve(i)
	}
	if a := d.empty(i); a.Verdict != 0 {
		return outcome{answer: a, err: d.r.WhatIf.Err(i, a)}
	}
	d.sort()
	d.split()
	if d.r.Options.NeverViolate {
		return d.bounded(i)
	}
	d.reprieve(i)
	if !d.any() {
		return outcome{err: noVictimError(d.r.Cluster.Node(i).Name)}
	}
	return outcome{found: true}
}

// empty removes the pods of all units and returns what the filters then say about slot i.
func (d *dryRun) empty(i int) Answer {
	w := d.r.WhatIf
	w.Reset()
	d.remove(i, d.members)
	return w.Check(i)
}

// sort sorts the units by importance and keeps the order of equal units. Up to 32 units are sorted by insertion.
func (d *dryRun) sort() {
	if len(d.units) > 32 {
		slices.SortStableFunc(d.units, func(a, b unit) int { return d.compare(&a, &b) })
		return
	}
	for k := 1; k < len(d.units); k++ {
		for m := k; m > 0 && d.compare(&d.units[m], &d.units[m-1]) < 0; m-- {
			d.units[m], d.units[m-1] = d.units[m-1], d.units[m]
		}
	}
}

// group is the unit as package podgroup compares it.
func (u *unit) group() podgroup.Unit {
	return podgroup.Unit{Kind: u.kind, Priority: u.priority, Pods: u.to - u.from, Start: u.start}
}

func (d *dryRun) compare(a, b *unit) int {
	if less := d.r.Options.MoreImportant; less != nil {
		p, q := d.members[a.from].Pod, d.members[b.from].Pod
		switch {
		case less(p, q):
			return -1
		case less(q, p):
			return 1
		}
		return trueFirst(a.foreign, b.foreign)
	}
	if c := podgroup.CompareUnits(a.group(), b.group()); c != 0 {
		return c
	}
	return trueFirst(a.foreign, b.foreign) // pods of other nodes come back before pods of this node of equal importance
}

// trueFirst orders true before false.
func trueFirst(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

// split marks the units that break a budget. More important units draw from the budgets first. Every node starts with fresh
// budgets, and a unit that comes back does not return what it drew (rule P6.5).
func (d *dryRun) split() {
	if d.budgets == nil {
		return
	}
	d.ledger.Undo(0)
	for k := range d.units {
		d.draw(k)
	}
}

// draw takes the unit's pods from the budgets and marks the pods that break a budget.
func (d *dryRun) draw(k int) {
	u := &d.units[k]
	u.violating = false
	for m := u.from; m < u.to; m++ {
		p := d.members[m].Pod
		violates := charge(d.r.Options.Release, d.ledger, d.matching(p), p.Name)
		d.members[m].violates = violates
		u.violating = u.violating || violates
	}
}

// matching returns the budgets that protect a pod. It keeps the answer, because the labels of a pod object never change.
func (d *dryRun) matching(p *v1.Pod) []int32 {
	list, ok := d.matches[p]
	if !ok {
		if len(d.matches) >= d.sweepAt {
			d.sweep()
		}
		list = d.budgets.AppendMatches(nil, p.Namespace, p.Labels)
		d.matches[p] = list
	}
	return list
}

// minMatches is the number of matches that are kept without a sweep.
const minMatches = 1024

// sweep drops the matches of the pods that left the cluster; all matches if the cluster does not say which pods it has. The next
// sweep comes when there are twice as many matches, so that sweeps cost little.
func (d *dryRun) sweep() {
	maps.DeleteFunc(d.matches, func(p *v1.Pod, _ []int32) bool {
		if d.index.requests == nil {
			return true
		}
		_, runs := d.index.requests(p)
		return !runs
	})
	d.sweepAt = max(minMatches, 2*len(d.matches))
}

// reprieve lets units come back while the preemptor still fits: first the units that break a budget, then the others, the
// more important units first.
func (d *dryRun) reprieve(i int) {
	for _, violating := range [...]bool{true, false} {
		for k := range d.units {
			if d.units[k].violating == violating {
				d.units[k].out = !d.back(i, k)
			}
		}
	}
}

// back adds a unit again and reports whether the preemptor still fits. If not, back removes the unit.
func (d *dryRun) back(i, k int) bool {
	w, pods := d.r.WhatIf, d.members[d.units[k].from:d.units[k].to]
	for m := range pods {
		if d.seenFrom(i, &pods[m]) {
			w.Add(pods[m].Pod, pods[m].Slot)
		}
	}
	if w.Check(i).Verdict == 0 {
		return true
	}
	d.remove(i, pods)
	return false
}

// remove removes the pods that make room on slot i.
func (d *dryRun) remove(i int, pods []member) {
	for m := range pods {
		if d.seenFrom(i, &pods[m]) {
			d.r.WhatIf.Remove(pods[m].Pod, pods[m].Slot)
		}
	}
}

// seenFrom reports whether it counts on slot i that the pod leaves.
func (d *dryRun) seenFrom(i int, m *member) bool { return m.Slot == i || d.r.Options.CrossNode != nil }

func (d *dryRun) any() bool {
	return slices.ContainsFunc(d.units, func(u unit) bool { return u.out })
}

// violations counts the victims that break a budget.
func (d *dryRun) violations() (n int) {
	for k := range d.units {
		if u := &d.units[k]; u.out {
			for _, m := range d.members[u.from:u.to] {
				if m.violates {
					n++
				}
			}
		}
	}
	return n
}

// candidate returns the candidate of slot i. The victims are sorted, most important first; of equally important victims those
// that break a budget come first.
func (d *dryRun) candidate(i, violations int) Candidate {
	for k := 1; k < len(d.units); k++ {
		for m := k; m > 0 && d.units[m].violating && !d.units[m-1].violating && d.compare(&d.units[m], &d.units[m-1]) == 0; m-- {
			d.units[m], d.units[m-1] = d.units[m-1], d.units[m]
		}
	}
	c := Candidate{Slot: i, Node: d.r.Cluster.Node(i).Name, Violations: int64(violations)}
	from := len(d.pile)
	for k := range d.units {
		u := &d.units[k]
		if !u.out {
			continue
		}
		for _, m := range d.members[u.from:u.to] {
			d.pile = append(d.pile, Victim{Placed: m.Placed, Violates: m.violates})
			if m.Slot != i && d.r.Options.CrossNode != nil {
				c.Foreign++
			}
		}
	}
	c.Victims = d.pile[from:len(d.pile):len(d.pile)]
	return c
}
