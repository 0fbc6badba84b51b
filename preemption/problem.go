package preemption

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/resources"
)

// Searcher searches the victims on a node in place of v1.37's search. Package preemption/optimal has one.
type Searcher interface {
	// Begin begins a request.
	Begin()
	// Exclude reports whether the node cannot have acceptable victims, so that no search is needed. The problem has no groups yet.
	Exclude(p *Problem) bool
	// Solve returns which groups of the problem leave, or nil if no victims are acceptable. The preemptor must fit on the node
	// without the pods that leave: Preempt does not check it.
	Solve(p *Problem) (leave []bool)
}

// Problem is the question which pods leave so that the preemptor fits on one node. A [Searcher] answers it. A Problem is valid
// until the method returns.
type Problem struct {
	// Slot is the slot of the node.
	Slot int
	// Groups are the pods that may leave, most important first. The pods of a group leave together.
	Groups []Group
	// Cluster is that of the request.
	Cluster Cluster
	// WhatIf holds the preemptor's filters. All pods are in place when the search begins.
	WhatIf WhatIf
	// Ledger draws from the disruption budgets; nil without budgets. Nothing is drawn when the search begins.
	Ledger *disruption.Ledger
	// Now is the start time of pods without a start time.
	Now time.Time
	// Matches returns the budgets that protect a pod, for Take; nil without budgets.
	Matches func(pod *v1.Pod) []int32
	// Take draws from the ledger for a victim, by the rule of the release, and reports whether the victim breaks a budget. Since v1.37 a
	// victim that breaks a budget charges no budget after it, so that the order of the victims counts (rule L8.11). False without budgets.
	Take func(budgets []int32, pod string) (violates bool)
	// Requests returns what a pod adds to the requests of its slot, and false if the cluster does not know.
	Requests func(pod *v1.Pod) (resources.Vector, bool)
	// Left returns what the pods of the slot would ask for together without all pods of a lower priority. It returns false if
	// the answer is not known without work, or if some of these pods must not leave.
	Left func(priority int32) (resources.Vector, bool)
}

// Group is a set of pods that leave together: a unit of [Options.Units], or one pod.
type Group struct {
	Pods []Placed
	// Priority and Start are what the order of the groups compares.
	Priority int32
	Start    time.Time
}

// problem returns the problem of slot i without groups.
func (d *dryRun) problem(i int) *Problem {
	d.asked.Slot, d.asked.Groups = i, d.asked.Groups[:0]
	return &d.asked
}

// describe sets what is the same in all problems of a request.
func (d *dryRun) describe() {
	d.asked = Problem{
		Groups: d.asked.Groups[:0], Cluster: d.r.Cluster, WhatIf: d.r.WhatIf, Ledger: d.ledger, Now: d.r.Now,
		Matches:  func(*v1.Pod) []int32 { return nil },
		Take:     func([]int32, string) bool { return false },
		Requests: d.index.requests,
		Left: func(priority int32) (resources.Vector, bool) {
			if !d.simple() {
				return nil, false
			}
			return d.index.left(d.asked.Slot, priority)
		},
	}
	if d.budgets != nil {
		d.asked.Matches = d.matching
		d.asked.Take = func(budgets []int32, pod string) bool { return charge(d.r.Options.Release, d.ledger, budgets, pod) }
	}
	if d.index.requests == nil {
		d.asked.Requests = func(*v1.Pod) (resources.Vector, bool) { return nil, false }
	}
}

// solve asks Options.Search which units leave slot i.
func (d *dryRun) solve(i int) outcome {
	d.sort()
	p := d.problem(i)
	d.placed = d.placed[:0]
	for k := range d.members {
		d.placed = append(d.placed, d.members[k].Placed)
	}
	for k := range d.units {
		u := &d.units[k]
		p.Groups = append(p.Groups, Group{Pods: d.placed[u.from:u.to:u.to], Priority: u.priority, Start: u.start})
	}
	d.undraw()
	d.r.WhatIf.Reset()
	out := d.r.Options.Search.Solve(p)
	d.undraw()
	for k := range d.units {
		if d.units[k].out = k < len(out) && out[k]; d.units[k].out && d.ledger != nil {
			d.draw(k)
		}
	}
	if d.any() {
		return outcome{found: true}
	}
	if d.anyFound { // nobody asks why
		return outcome{reason: refusedReason}
	}
	a := d.empty(i)
	if a.Verdict == 0 {
		return outcome{reason: refusedReason}
	}
	return outcome{answer: a, err: d.r.WhatIf.Err(i, a)}
}

// refusedReason is the reason of a node on which the Searcher finds no victims although the pods that may leave give room.
const refusedReason = "no acceptable preemption victims"

func (d *dryRun) undraw() {
	if d.ledger != nil {
		d.ledger.Undo(0)
	}
}
