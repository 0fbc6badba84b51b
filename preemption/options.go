package preemption

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// This file has what v1.36 does not do.

const (
	budgetsReason = "disruption budgets leave too few preemption victims"
	defaultAcross = 50
)

// bounded finds victims none of which breaks a budget. The rule of v1.36 is tried first: where it breaks none, the victims
// are the same. Then budgets are drawn by the least important unit first, then by the most important one first, and what
// would break one stays.
func (d *dryRun) bounded(i int) outcome {
	d.reprieve(i)
	if !slices.ContainsFunc(d.units, func(u unit) bool { return u.out && u.violating }) {
		if !d.any() {
			return outcome{err: noVictimError(d.r.Cluster.Node(i).Name)}
		}
		return outcome{found: true}
	}
	for _, ascending := range [...]bool{true, false} {
		if d.affordable(i, ascending) {
			return outcome{found: true}
		}
	}
	return outcome{reason: budgetsReason}
}

// affordable removes what the budgets can bear, drawing in one order, and reports whether the preemptor fits then.
func (d *dryRun) affordable(i int, ascending bool) bool {
	w := d.r.WhatIf
	w.Reset()
	d.ledger.Undo(0)
	for n := range d.units {
		k := n
		if ascending {
			k = len(d.units) - 1 - n
		}
		mark := d.ledger.Mark()
		if d.draw(k); d.units[k].violating {
			d.ledger.Undo(mark)
			continue
		}
		for _, m := range d.members[d.units[k].from:d.units[k].to] {
			w.Remove(m.Pod, m.Slot)
		}
	}
	if w.Check(i).Verdict != 0 {
		return false
	}
	for k := range d.units {
		d.units[k].out = !d.units[k].violating && !d.back(i, k)
	}
	return d.any()
}

// across searches again with the pods of other nodes that may stand in the way. local is why the node alone is not enough.
func (d *dryRun) across(i int, local outcome) outcome {
	o := d.r.Options.CrossNode
	if o.Foreign == nil {
		return local
	}
	d.units, d.members, d.seen = d.units[:0], d.members[:0], d.seen[:0]
	d.collectLocal(i)
	own, limit := len(d.members), o.Max
	if limit == 0 {
		limit = defaultAcross
	}
	for _, f := range o.Foreign(i) {
		if f.Slot != i {
			q := resident{pod: f.Pod, priority: Priority(f.Pod), start: start(f.Pod, d.r.Now), started: true}
			d.collect(f.Slot, &q, true)
		}
	}
	switch n := len(d.members) - own; {
	case n == 0:
		return local
	case n > limit:
		return outcome{reason: fmt.Sprintf("more than %d pods on other nodes may be in the way", limit)}
	}
	if found := d.search(i); found.found {
		return found
	}
	return local
}

// collectUnit adds unit k of the options, once for each node, unless one of its pods may not be a victim.
func (d *dryRun) collectUnit(i, k int, foreign bool) {
	if slices.Contains(d.seen, k) {
		return
	}
	d.seen = append(d.seen, k)
	u := &d.r.Options.Units[k]
	from := len(d.members)
	out := unit{from: from, foreign: foreign}
	for n, p := range u.Pods {
		slot := d.slots[k][n]
		if slot < 0 {
			continue // on no node: nothing to remove
		}
		if Priority(p) >= d.priority || d.r.Options.Eligible != nil && !d.r.Options.Eligible(slot, p, d.r.Pod) {
			d.members = d.members[:from]
			return
		}
		if len(d.members) == from || Priority(p) > out.priority {
			out.priority = Priority(p)
		}
		if s := start(p, d.r.Now); len(d.members) == from || s.Before(out.start) {
			out.start = s
		}
		d.members = append(d.members, member{Placed: Placed{p, slot}})
	}
	if u.Priority != nil {
		out.priority = *u.Priority
	}
	if out.to = len(d.members); out.to == from || out.priority >= d.priority {
		d.members = d.members[:from]
		return
	}
	d.units = append(d.units, out)
}

// findUnits notes which pods are in a unit, and where the units' pods are.
func (d *dryRun) findUnits() {
	d.unitOf, d.slots = nil, nil
	if len(d.r.Options.Units) == 0 {
		return
	}
	type place struct{ unit, at int }
	d.unitOf = map[podName]int{}
	where := map[podName]place{}
	for k, u := range d.r.Options.Units {
		d.slots = append(d.slots, slices.Repeat([]int{-1}, len(u.Pods)))
		for n, p := range u.Pods {
			name := podName{p.Namespace, p.Name}
			if _, twice := d.unitOf[name]; !twice { // a pod belongs to the first unit that names it
				d.unitOf[name], where[name] = k, place{k, n}
			}
		}
	}
	for i := range d.r.Cluster.Len() {
		d.r.Cluster.Pods(i)(func(p *v1.Pod) bool {
			if at, ok := where[podName{p.Namespace, p.Name}]; ok {
				d.slots[at.unit][at.at] = i
			}
			return true
		})
	}
}
