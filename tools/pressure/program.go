// Package pressure (experimental) is the command pressure: it says what the kubelet does on a node that runs short of memory, disk or
// processes. podberth and kubectl podberth call [Run].
package pressure

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// options are the command line.
type options struct {
	program.Common
	node    string // empty: not given
	summary string
	kubelet string
	layout  pressure.Layout // empty: not given
	at      time.Time       // zero: not given
	time    string          // of -at, as it is given
	state   string
	rank    pressure.Signal // empty: not given
}

// Run runs the program with these arguments and streams. It returns the exit code. Results go to stdout in one piece, or not at all.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return program.Main("pressure", parseFlags, program.Never(answer))(ctx, args, stdin, stdout, stderr)
}

func answer(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) error {
	in, err := load(o, stdin)
	err = cmp.Or(err, program.Interrupted(ctx))
	if err != nil {
		return err
	}
	r := observe(in)
	r.only(&o.Tables)
	out, err := report.Render(o.Output, r, func(b *strings.Builder) { r.table(b, o.Tables.Layout) })
	if err != nil {
		return err
	}
	if err := in.keep(o.state); err != nil {
		return err
	}
	return report.Print(out, in.warnings, stdout, stderr)
}

var layouts = []string{"single", "imagefs", "split"}

// Flags returns the flags of the program, for programs that show or forward them. Setting these flags has no effect.
func Flags() *flag.FlagSet { return new(options).flags(io.Discard).FlagSet }

func (o *options) flags(stdout io.Writer) *program.Set {
	f := program.Flags(program.Help{
		Name: "pressure", Purpose: "says what the kubelet does on a node that runs short of memory, disk or processes.",
		Usage: []string{"pressure -f PATH -summary FILE [flags]", "pressure -f SNAPSHOT -node NODE [flags]"},
		Examples: []string{
			"# what happens on a node now",
			"kubectl get --raw /api/v1/nodes/node-a1/proxy/stats/summary > summary.json",
			"kubectl get nodes,pods -A -o yaml | pressure -f - -summary summary.json",
			"# of a snapshot, which has the stats of the nodes",
			"pressure -f cluster.yaml.gz -node node-a1",
		},
	}, stdout)
	o.InputFlags(f, "pods and their node")
	f.StringVar(&o.node, "node", "", "the `NODE` (that of the stats when not given)")
	f.StringVar(&o.summary, "summary", "", "`FILE` that kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary printed (the node's stats in a snapshot when not given)")
	f.StringVar(&o.kubelet, "kubelet", "", "`FILE` with a KubeletConfiguration (that in a snapshot when not given, or the defaults)")
	f.StringVar((*string)(&o.layout), "layout", "", "`LAYOUT` of the file systems: "+strings.Join(layouts, ", ")+" (single, or that of the state, when not given)")
	f.StringVar(&o.time, "at", "", "`TIME` of the observation as 2026-03-02T08:00:00Z (the newest one of the summary when not given)")
	f.StringVar(&o.state, "state", "", "`FILE` with what is remembered between observations: read if it is there, and written")
	f.StringVar((*string)(&o.rank), "rank", "", "`SIGNAL` to rank the pods for when nothing acts (the first one that is short when not given, or memory.available)")
	o.OutputFlags(f, "pods", "")
	f.BoolVar(&o.Input.Strict, "strict", false, "what is a warning otherwise is an error")
	return f
}

func parseFlags(args []string, stdout io.Writer) (o options, err error) {
	f := o.flags(stdout)
	if err := program.Parse(f, args); err != nil {
		return o, err
	}
	if err := o.Check(f); err != nil {
		return o, err
	}
	switch {
	case o.layout != "" && !slices.Contains(layouts, string(o.layout)):
		return o, fmt.Errorf("-layout: Unsupported value: %q: supported values: %s", o.layout, strings.Join(layouts, ", "))
	case o.rank != "" && !slices.Contains(pressure.Signals(), o.rank):
		return o, fmt.Errorf("-rank: Unsupported value: %q: supported values: %s", o.rank, signals())
	case o.state == "-":
		return o, errors.New("-state: Invalid value: \"-\": must be a file, it is read and written")
	case standardInputs(o) > 1:
		return o, errors.New("-: Invalid value: standard input can be read once only")
	}
	if o.time != "" {
		if o.at, err = program.At(o.time); err != nil {
			return o, err
		}
	}
	return o, nil
}

func standardInputs(o options) (n int) {
	for _, path := range append([]string{o.summary, o.kubelet}, o.Files...) {
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
