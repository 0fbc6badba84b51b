// Command nodepressure prints what the kubelet does on a node that runs short of memory, disk or processes.
//
//	go run ./examples/nodepressure -f examples/nodepressure/testdata/pods.yaml -summary examples/nodepressure/testdata/memory.json
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/examples/dump"
	"github.com/podberth/podberth/examples/program"
	"github.com/podberth/podberth/examples/report"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// options are the command line.
type options struct {
	files   []string
	input   dump.Options
	summary string
	kubelet string
	layout  pressure.Layout // empty: not given
	at      time.Time       // zero: not given
	state   string
	rank    pressure.Signal // empty: not given
	output  string
	strict  bool
	tables  program.Tables
}

// run is main with its surroundings as arguments. Results go to stdout in one piece, or not at all.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stdout)
	if err == nil {
		err = answer(o, stdin, stdout, stderr)
	}
	return program.Code("nodepressure", err, stderr)
}

func answer(o options, stdin io.Reader, stdout, stderr io.Writer) error {
	in, err := load(o, stdin)
	if err != nil {
		return err
	}
	r := observe(in)
	r.only(&o.tables)
	out, err := report.Render(o.output, r, func(b *strings.Builder) { r.table(b, o.tables.Layout) })
	if err != nil {
		return err
	}
	if err := in.keep(o.state); err != nil {
		return err
	}
	return report.Print(out, in.warnings, stdout, stderr)
}

var layouts = []string{"single", "imagefs", "split"}

func parseFlags(args []string, stdout io.Writer) (o options, err error) {
	f := program.Flags(program.Help{
		Name: "nodepressure", Purpose: "says what the kubelet does on a node that runs short of memory, disk or processes.",
		Usage: []string{"nodepressure -f PATH -summary FILE [flags]"},
		Examples: []string{
			"# what happens on a node now",
			"kubectl get --raw /api/v1/nodes/node-a1/proxy/stats/summary > summary.json",
			"kubectl get nodes,pods -A -o yaml | nodepressure -f - -summary summary.json",
		},
	}, stdout)
	program.Inputs(f, &o.files, "pods and their node")
	o.input.Flags(f.FlagSet)
	f.StringVar(&o.summary, "summary", "", "`FILE` that kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary printed")
	f.StringVar(&o.kubelet, "kubelet", "", "`FILE` with a KubeletConfiguration (defaults when not given)")
	layout := f.String("layout", "", "`LAYOUT` of the file systems: "+strings.Join(layouts, ", ")+" (single, or that of the state, when not given)")
	at := f.String("at", "", "`TIME` of the observation as 2026-03-02T08:00:00Z (the newest one of the summary when not given)")
	f.StringVar(&o.state, "state", "", "`FILE` with what is remembered between observations: read if it is there, and written")
	rank := f.String("rank", "", "`SIGNAL` to rank the pods for when nothing acts (the first one that is short when not given, or memory.available)")
	report.Flag(f.FlagSet, &o.output)
	o.tables.Flags(f, "")
	f.BoolVar(&o.strict, "strict", false, "what is a warning otherwise is an error")
	if err := program.Parse(f, args); err != nil {
		return o, err
	}
	o.input.Strict = o.strict
	o.layout, o.rank = pressure.Layout(*layout), pressure.Signal(*rank)
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see nodepressure -h", f.Arg(0))
	case len(o.files) == 0:
		return o, program.CheckInputs(o.files)
	case o.summary == "":
		return o, errors.New("-summary: Required value: a file with a stats summary")
	case report.Check(o.output) != nil:
		return o, report.Check(o.output)
	case o.tables.Check(o.output) != nil:
		return o, o.tables.Check(o.output)
	case o.layout != "" && !slices.Contains(layouts, string(o.layout)):
		return o, fmt.Errorf("-layout: Unsupported value: %q: supported values: %s", o.layout, strings.Join(layouts, ", "))
	case o.rank != "" && !slices.Contains(pressure.Signals(), o.rank):
		return o, fmt.Errorf("-rank: Unsupported value: %q: supported values: %s", o.rank, signals())
	case o.state == "-":
		return o, errors.New("-state: Invalid value: \"-\": must be a file, it is read and written")
	case standardInputs(o) > 1:
		return o, errors.New("-: Invalid value: standard input can be read once only")
	}
	if *at != "" {
		if o.at, err = time.Parse(time.RFC3339, *at); err != nil {
			return o, fmt.Errorf("-at: Invalid value: %q: must be a time such as 2026-03-02T08:00:00Z", *at)
		}
	}
	return o, nil
}

func standardInputs(o options) (n int) {
	for _, path := range append([]string{o.summary, o.kubelet}, o.files...) {
		if path == "-" {
			n++
		}
	}
	return n
}

func signals() string {
	var names []string
	for _, s := range pressure.Signals() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}
