// Package place (experimental) is the command place: it schedules the pending pods of a cluster and says where each goes and why not, explains
// one pod, or counts how many more pods fit. podberth and kubectl podberth call [Run].
package place

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/scheduler/groups"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/internal/must"
	"github.com/podberth/podberth/tools/page"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// options are the command line.
type options struct {
	program.Common
	program.Bounds
	config            string
	against           string // a second configuration
	priceLabel        string
	detail            detail
	explain           string
	where             string // with explain: a node or a label selector
	all               bool   // with explain: every node
	brief             bool   // with explain: of a pod that waits the answer alone
	admit             bool
	admission         admission.Options
	expand            bool
	strict            bool
	seed              uint64
	percentage        int
	preemption        string // default or optimal
	failUnschedulable bool
	failErrors        bool
	grace             bool
	timeline, log     string
	cordon, taint     []string
	add               []string
	count             int
	featureGates      groups.FeatureGates
	howMany           string
	pack              bool
	nodeMap           bool
}

// Run runs the program with these arguments and streams. It returns the exit code. Results go to stdout in one piece, or not at all.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return program.Main("place", parseFlags, place)(ctx, args, stdin, stdout, stderr)
}

// place writes what was asked for. It reports whether a flag asks for exit code 1.
func place(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) (no bool, err error) {
	o.admission.Tolerations.ComparisonOperators = o.featureGates.Compares()
	o.Tables.Layout.Wrap = false // a message is cut: -explain has the whole of it
	var out bytes.Buffer
	v, err := reply(ctx, &out, o, stdin, stderr)
	if err != nil {
		return false, err
	}
	return v.unplaced && o.failUnschedulable || v.failed && o.failErrors, report.Print(out.Bytes(), v.asides, stdout, stderr)
}

// verdict is what the exit code depends on, and what is said after the answer.
type verdict struct {
	unplaced bool // a pod stayed without a node
	failed   bool // a pod was refused, or ended with an error
	asides   report.Warnings
}

// reply writes what was asked for.
func reply(ctx context.Context, out *bytes.Buffer, o options, stdin io.Reader, stderr io.Writer) (v verdict, err error) {
	defer must.Catch(&err)
	if o.against != "" {
		return against(ctx, out, o, stdin, stderr), nil
	}
	var timeline []event
	if o.timeline != "" {
		timeline = must.Get(readTimeline(o.timeline, o.Input))
	}
	with, warnings, err := optionsOf(o, stderr)
	must.Do(err)
	w := must.Get(load(o, with.Profiles, timeline, stdin, stderr))
	for _, text := range warnings {
		report.Textf(stderr, "warning: %s\n", text)
	}
	o.explain, o.howMany = w.ofOwner(o.explain, o.Tables.Namespace), w.ofOwner(o.howMany, o.Tables.Namespace)
	must.Do(o.known(w, timeline))
	v.asides = w.asides
	before := usageOf(w.snapshot)
	x := must.Get(newSimulation(w, o, timeline, with, stderr))
	switch {
	case o.howMany != "":
		profile := w.s.Profile(with.Profiles[0].SchedulerName)
		if p := w.pods[o.howMany]; p != nil && w.s.Profile(dump.SchedulerName(p)) != nil {
			profile = w.s.Profile(dump.SchedulerName(p))
		}
		v.unplaced = howMany(ctx, out, stderr, w, o, profile.Placement())
		return v, nil
	case o.pack:
		v.unplaced = pack(ctx, out, w, o, w.s.Profile(with.Profiles[0].SchedulerName).Placement())
		return v, nil
	case o.explain != "":
		v = explainPod(ctx, out, x)
		v.asides = w.asides
		return v, nil
	}
	began := time.Now()
	must.Do(x.run(ctx))
	x.notes.Print(stderr)
	switch o.log {
	case "":
	case "-":
		out.WriteString(x.log.String() + "\n")
	default:
		must.Do(report.WriteText(o.log, 0o644, x.log.String()))
	}
	v.failed = x.refused
	for _, e := range x.last {
		v.unplaced = v.unplaced || e.Outcome != outcomeScheduled
		v.failed = v.failed || e.Outcome == outcomeRefused || e.Outcome == outcomeError
	}
	if o.Output == page.Form {
		a := x.answer()
		x.explainGroups(ctx, a.Groups)
		x.writePage(ctx, out, a)
		return v, nil
	}
	a, took := x.answer(), time.Since(began)
	x.explainGroups(ctx, a.Groups)
	if o.Output != wide && o.Tables.Layout.Width > 0 && !report.IsData(o.Output) {
		must.Do(x.causes(a.Pods))
	}
	write(out, a, o, took)
	w.s.View(func(c *cluster.Snapshot) {
		if o.nodeMap {
			most := mostNodesInMap
			if o.Output == wide {
				most = c.Len()
			}
			writeMap(out, c, most, o.Tables.Layout)
		}
		if o.Output == wide && !o.Tables.Layout.NoHeaders {
			writeUsage(out, before, usageOf(c))
		}
	})
	return v, nil
}
