package main

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// Outcomes of an attempt.
const (
	outcomeScheduled     = "Scheduled"
	outcomeUnschedulable = "Unschedulable"
	outcomeGated         = "Gated"
	outcomeError         = "Error"
)

// gatedMessage is what the API server says of a pod with scheduling gates.
const gatedMessage = "Scheduling is blocked due to non-empty scheduling gates"

// entry is one attempt, in the form in which it is printed.
type entry struct {
	Pod           string                 `json:"pod"`
	SchedulerName string                 `json:"schedulerName"`
	Priority      int32                  `json:"priority"`
	Outcome       string                 `json:"outcome"`
	Node          string                 `json:"node,omitempty"`
	Message       string                 `json:"message,omitempty"`
	NominatedNode string                 `json:"nominatedNode,omitempty"`
	Victims       []string               `json:"victims,omitempty"`
	Nodes         []placement.NodeReport `json:"nodes,omitempty"`

	evaluated, feasible int
	total               int64
}

// schedule tries the pending pods in order, each seeing the ones before.
func (w *world) schedule(o options) ([]entry, error) {
	var ask placement.Options
	if o.seed != 0 {
		ask.Tie = rand.New(rand.NewPCG(o.seed, 0)).IntN
	}
	entries := make([]entry, 0, len(w.pending))
	for _, p := range w.pending {
		e := entry{Pod: p.Namespace + "/" + p.Name, SchedulerName: w.profile.SchedulerName, Priority: preemption.Priority(p)}
		if len(p.Spec.SchedulingGates) > 0 {
			e.Outcome, e.Message = outcomeGated, gatedMessage
			entries = append(entries, e)
			continue
		}
		d := w.plan.Decide(p, ask)
		ask.Next = d.Next
		e.Node, e.evaluated, e.feasible, e.total = d.Node, d.Evaluated, d.Feasible, d.Total
		if o.detail {
			nodes, err := w.plan.Table(p)
			if err != nil {
				return nil, err
			}
			e.Nodes = nodes
		}
		switch {
		case d.Placed():
			e.Outcome = outcomeScheduled
			if err := w.plan.Assume(p, d); err != nil {
				return nil, err
			}
		case d.Failure.Err != nil:
			e.Outcome, e.Message = outcomeError, d.Failure.Text()
		default:
			e.Outcome, e.Message = outcomeUnschedulable, d.Failure.Text()
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
