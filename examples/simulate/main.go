// Command simulate schedules the pending pods of a cluster dump and prints where each went and why not.
//
//	go run ./examples/simulate -f examples/simulate/testdata/cluster.yaml
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/examples/dump"
	"github.com/podberth/podberth/examples/report"
)

// Exit codes of the programs.
const (
	exitOK       = 0
	exitNo       = 1 // the answer is no, and a flag asked for it
	exitBadInput = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// options are the command line.
type options struct {
	files             []string
	input             dump.Options
	config            string
	output            string
	detail            bool
	explain           string
	all               bool // with explain: every node
	admit             bool
	expand            bool
	strict            bool
	seed              uint64
	percentage        int
	failUnschedulable bool
	failErrors        bool
	grace             bool
	timeline, log     string
	cordon, taint     []string
	add               []string
	count             int
	howMany           string
	layout            report.Layout
}

// run is main with its surroundings as arguments. Results go to stdout in one piece, or not at all.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "simulate: %v\n", err)
		return exitBadInput
	}
	o.layout.Width = report.Width(stdout)
	var out bytes.Buffer
	v, err := reply(&out, o, stdin, stderr)
	if err == nil {
		_, err = stdout.Write(out.Bytes())
	}
	if err != nil {
		fmt.Fprintf(stderr, "simulate: %v\n", err)
		return exitBadInput
	}
	if v.unplaced && o.failUnschedulable || v.failed && o.failErrors {
		return exitNo
	}
	return exitOK
}

// verdict is what the exit code depends on.
type verdict struct {
	unplaced bool // a pod stayed without a node
	failed   bool // a pod was refused, or ended with an error
}

// reply writes what was asked for.
func reply(out io.Writer, o options, stdin io.Reader, stderr io.Writer) (v verdict, err error) {
	var timeline []event
	if o.timeline != "" {
		if timeline, err = readTimeline(o.timeline, o.input); err != nil {
			return v, err
		}
	}
	with, warnings, err := setup(o, stderr)
	if err != nil {
		return v, err
	}
	w, err := load(o, with.Profiles, stdin, stderr)
	if err != nil {
		return v, err
	}
	for _, text := range warnings {
		fmt.Fprintf(stderr, "warning: %s\n", text)
	}
	before := usageOf(w.snapshot)
	x, err := newSimulation(w, o, timeline, with)
	if err != nil {
		return v, err
	}
	switch {
	case o.howMany != "":
		profile := w.s.Profile(with.Profiles[0].SchedulerName)
		if p := w.pods[o.howMany]; p != nil && w.s.Profile(schedulerName(p)) != nil {
			profile = w.s.Profile(schedulerName(p))
		}
		v.unplaced, err = howMany(out, stderr, w, o, profile.Placement())
		return v, err
	case o.explain != "":
		return explainPod(context.Background(), out, x)
	}
	began := time.Now()
	if err := x.run(context.Background()); err != nil {
		return v, err
	}
	x.notes.Print(stderr)
	if o.log != "" {
		if err := os.WriteFile(o.log, []byte(x.log.String()), 0o644); err != nil {
			return v, err
		}
	}
	v.failed = x.refused
	for _, e := range x.last {
		v.unplaced = v.unplaced || e.Outcome != outcomeScheduled
		v.failed = v.failed || e.Outcome == outcomeRefused || e.Outcome == outcomeError
	}
	if err := write(out, x.answer(), o, time.Since(began)); err != nil || o.output != wide {
		return v, err
	}
	w.s.View(func(c *cluster.Snapshot) { err = writeUsage(out, before, usageOf(c)) })
	return v, err
}

const wide = "wide" // the form of output that has more columns than a table

func parseFlags(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("simulate", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintf(stderr, "simulate schedules the pending pods of a cluster dump and prints where each went and why not.\n\nusage: simulate -f PATH [flags]\n\n")
		f.PrintDefaults()
	}
	f.Func("f", "input, repeatable: a file, a folder, or - for standard input", func(s string) error {
		o.files = append(o.files, s)
		return nil
	})
	o.input.Flags(f)
	f.StringVar(&o.config, "config", "", "`FILE` with a KubeSchedulerConfiguration; the default profile without")
	report.Flag(f, &o.output, wide)
	f.BoolVar(&o.detail, "detail", false, "with json and yaml: every plugin's verdict and score of every node")
	f.StringVar(&o.explain, "explain", "", "explain one pod, waiting or running: `NAMESPACE/NAME`")
	f.BoolVar(&o.all, "all", false, "with -explain: every node, not the best twenty")
	f.BoolVar(&o.admit, "admit", false, "run admission on all pending pods")
	f.BoolVar(&o.expand, "expand", false, "make the pods that workload objects ask for and the input lacks")
	f.BoolVar(&o.strict, "strict", false, "a pod on a node that is not in the input, and a field that the API does not have, are errors")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the choice among equally good nodes; 0 takes the first in node order")
	f.IntVar(&o.percentage, "percentage", -1, "percentageOfNodesToScore of all profiles, 0 to 100 (100 when neither it nor -config is given)")
	f.BoolVar(&o.grace, "grace", false, "victims run out their grace periods in virtual time")
	f.StringVar(&o.timeline, "timeline", "", "`FILE` of events by virtual time: at, and add, update or delete of an object")
	f.StringVar(&o.log, "log", "", "`FILE` for every move in the queue and every attempt, in virtual time")
	list := func(to *[]string, name, usage string) {
		f.Func(name, usage, func(s string) error { *to = append(*to, s); return nil })
	}
	list(&o.cordon, "cordon", "what if, repeatable: this `NODE` were cordoned")
	list(&o.taint, "taint", "what if, repeatable: a node had this taint, `NODE:KEY=VALUE:EFFECT`")
	list(&o.add, "add", "what if, repeatable: there were the nodes and pods of this `FILE` too")
	f.IntVar(&o.count, "count", 1, "how many of each object of -add there are")
	f.StringVar(&o.howMany, "how-many", "", "tell how many more pods like `NAMESPACE/NAME` fit, up to 100000")
	f.BoolVar(&o.failUnschedulable, "fail-unschedulable", false, "exit 1 if a pod stayed without a node")
	f.BoolVar(&o.failErrors, "fail-errors", false, "exit 1 if a pod was refused or ended with an error")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("%w; see simulate -h", err)
	}
	o.input.Strict = o.strict
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see simulate -h", f.Arg(0))
	case len(o.files) == 0:
		return o, errors.New("-f: Required value: at least one file, folder or -")
	case report.Check(o.output, wide) != nil:
		return o, report.Check(o.output, wide)
	case o.percentage < -1 || o.percentage > 100:
		return o, fmt.Errorf("-percentage: Invalid value: %d: not in valid range [0-100]", o.percentage)
	case o.count < 1 || o.count > 1000000:
		return o, fmt.Errorf("-count: Invalid value: %d: not in valid range [1-1000000]", o.count)
	case o.count != 1 && len(o.add) == 0:
		return o, errors.New("-count: Invalid value: goes with -add")
	case o.detail && !report.IsData(o.output):
		return o, errors.New("-detail: Invalid value: true: goes with -o json or -o yaml")
	}
	return o, nil
}
