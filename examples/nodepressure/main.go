// Command nodepressure tells what the kubelet does on a node that runs short of memory, disk or processes.
//
//	go run ./examples/nodepressure -f examples/nodepressure/testdata/pods.yaml -summary examples/nodepressure/testdata/memory.json
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/podberth/podberth/eviction/pressure"
)

// Exit codes of the programs.
const (
	exitOK       = 0
	exitBadInput = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// options are the command line.
type options struct {
	files   []string
	summary string
	kubelet string
	layout  pressure.Layout // empty: not given
	at      time.Time       // zero: not given
	state   string
	rank    pressure.Signal // empty: not given
	output  string
	strict  bool
}

// run is main with its surroundings as arguments. Results go to stdout in one piece, or not at all.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil {
		err = answer(o, stdin, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "nodepressure: %v\n", err)
		return exitBadInput
	}
	return exitOK
}

func answer(o options, stdin io.Reader, stdout, stderr io.Writer) error {
	in, err := load(o, stdin)
	if err != nil {
		return err
	}
	r := observe(in)
	var out bytes.Buffer
	if err := write(&out, r, o.output); err != nil {
		return err
	}
	if err := in.keep(o.state); err != nil {
		return err
	}
	for _, w := range in.warnings {
		fmt.Fprintf(stderr, "warning: %s\n", w)
	}
	_, err = stdout.Write(out.Bytes())
	return err
}

var (
	outputs = []string{"table", "json", "yaml"}
	layouts = []string{string(pressure.Single), string(pressure.DedicatedImages), string(pressure.SplitImages)}
)

func parseFlags(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("nodepressure", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintf(stderr, "nodepressure tells what the kubelet does on a node that runs short of memory, disk or processes.\n\nusage: nodepressure -f PATH -summary FILE [flags]\n\n")
		f.PrintDefaults()
	}
	f.Func("f", "pods and their node, repeatable: a file, a folder, or - for standard input", func(s string) error {
		o.files = append(o.files, s)
		return nil
	})
	f.StringVar(&o.summary, "summary", "", "`FILE` that kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary printed")
	f.StringVar(&o.kubelet, "kubelet", "", "`FILE` with a KubeletConfiguration (defaults when not given)")
	layout := f.String("layout", "", "file systems: "+strings.Join(layouts, ", ")+" (single, or that of the state, when not given)")
	at := f.String("at", "", "`TIME` of the observation as 2026-03-02T08:00:00Z (the newest one of the summary when not given)")
	f.StringVar(&o.state, "state", "", "`FILE` with what is remembered between observations: read if it is there, and written")
	rank := f.String("rank", "", "`SIGNAL` to rank the pods for when nothing acts (the first one that is short when not given, or memory.available)")
	f.StringVar(&o.output, "o", "table", "output: "+strings.Join(outputs, ", "))
	f.BoolVar(&o.strict, "strict", false, "what is a warning otherwise is an error")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("%w; see nodepressure -h", err)
	}
	o.layout, o.rank = pressure.Layout(*layout), pressure.Signal(*rank)
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see nodepressure -h", f.Arg(0))
	case len(o.files) == 0:
		return o, errors.New("-f: Required value: at least one file, folder or -")
	case o.summary == "":
		return o, errors.New("-summary: Required value: a file with a stats summary")
	case !slices.Contains(outputs, o.output):
		return o, fmt.Errorf("-o: Unsupported value: %q: supported values: %s", o.output, strings.Join(outputs, ", "))
	case o.layout != "" && !slices.Contains(layouts, string(o.layout)):
		return o, fmt.Errorf("-layout: Unsupported value: %q: supported values: %s", o.layout, strings.Join(layouts, ", "))
	case o.rank != "" && !o.rank.Known():
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
