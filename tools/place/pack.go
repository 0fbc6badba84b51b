package place

import (
	"bytes"
	"context"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/packing"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/internal/must"
	"github.com/podberth/podberth/tools/report"
)

// packed is the answer to -pack, in the form in which it is printed.
type packed struct {
	report.Head
	packing.Plan
}

// pack says how the pending pods get nodes if running pods may move or leave. Pods of other profiles and pods with scheduling gates
// are left out.
func pack(ctx context.Context, out *bytes.Buffer, w *world, o options, profile placement.Profile) (unplaced bool) {
	profile.Volumes, profile.Devices = nil, nil // the plan has its own
	var queue []*v1.Pod
	for _, p := range w.pending {
		if len(p.Spec.SchedulingGates) == 0 && dump.SchedulerName(p) == profile.SchedulerName {
			queue = append(queue, p)
		}
	}
	plan := must.Get(packing.Pack(packing.Input{Snapshot: w.snapshot, Pending: queue, Profile: profile, Now: w.now}, packing.Options{Groups: w.groups, Seed: o.seed, Steps: o.Steps, Stop: o.Stop(ctx)}))
	unplaced = len(plan.Pending) > 0
	if report.IsData(o.Output) {
		if plan.Tiers == nil {
			plan.Tiers = []packing.Tier{}
		}
		writeData(out, packed{report.HeadOf("PackingPlan"), plan}, o.Output)
		return unplaced
	}
	var rows [][]string
	var open packing.Tier // the first whose bound the plan does not reach; the bounds of the tiers below hold only if it does
	for _, t := range plan.Tiers {
		most := strconv.Itoa(t.Bound)
		if open.Gap() > 0 {
			most = "-"
		} else if t.Placed != t.Bound {
			open = t
		}
		rows = append(rows, []string{strconv.Itoa(int(t.Priority)), strconv.Itoa(t.Pods), strconv.Itoa(t.Before), strconv.Itoa(t.Default), strconv.Itoa(t.Placed), most})
	}
	table, _ := o.Tables.Layout.Columns([]string{"PRIORITY", "PODS", "PLACED NOW", "BY KUBE-SCHEDULER", "BY THE PLAN", "AT MOST"}, rows)
	out.WriteString(table + "\n")
	if len(plan.Actions) > 0 {
		rows = nil
		for _, a := range plan.Actions {
			rows = append(rows, []string{a.Pod, strconv.Itoa(int(a.Priority)), orNone(a.From), orNone(a.To)})
		}
		table, _ = o.Tables.Layout.Columns([]string{"POD", "PRIORITY", "FROM", "TO"}, rows)
		out.WriteString(table + "\n")
	}
	switch {
	case plan.DefaultOptimal:
		report.Textf(out, "kube-scheduler's places are the best: nothing has to move.\n")
	case plan.LeaveIt:
		report.Textf(out, "No plan was found that is better than kube-scheduler: at most %d of %d pods of priority %d have room, and %d steps were searched.\n", open.Bound, open.Pods, open.Priority, plan.Steps)
	case plan.Optimal:
		report.Textf(out, "No better plan exists.\n")
	default:
		report.Textf(out, "A better plan may exist: at most %d of %d pods of priority %d have room, and %d steps were searched.\n", open.Bound, open.Pods, open.Priority, plan.Steps)
	}
	return unplaced
}
