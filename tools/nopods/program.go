// Package nopods is program no-pods: it says why a workload has no pods, or fewer than it wants, because the API server refuses them, and what
// would let them in. podberth and kubectl podberth call [Run].
package nopods

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// options are the command line.
type options struct {
	files    []string
	input    dump.Options
	workload string
	output   string
	tables   program.Tables
}

// Run runs the program with these arguments and streams; it ends with ctx. It returns the exit code. Results go to stdout in one piece, or not
// at all.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	stdout = program.Until(ctx, stdout)
	return program.Run("no-pods", func() (no bool, err error) {
		o, err := parseFlags(args, stdout)
		if err != nil {
			return false, err
		}
		o.tables.Fit(stdout)
		o.input.Progress = program.Reading(stderr)
		objects, err := dump.Read(o.files, stdin, o.input)
		if err != nil {
			return false, err
		}
		a, err := ask(objects, o.workload)
		if err != nil {
			return false, err
		}
		out, err := report.Render(o.output, a, func(b *strings.Builder) { a.write(b, o.tables.Layout) })
		if err != nil {
			return false, err
		}
		return false, report.Print(out, objects.Warnings, stdout, stderr)
	}, stderr)
}

// help is what -h prints before the flags.
var help = program.Help{
	Name: "no-pods", Purpose: "says why a workload has fewer pods than it wants, and what would let them in.",
	Usage: []string{"no-pods -f PATH -workload KIND/NAMESPACE/NAME"},
	Examples: []string{
		"# why a Deployment has no pods",
		"no-pods -f cluster.yaml -workload deployment/shop/web",
	},
}

// Flags returns the flags of the program, for programs that show or forward them. Setting these flags has no effect.
func Flags() *flag.FlagSet { return new(options).flags(io.Discard).FlagSet }

func (o *options) flags(stdout io.Writer) *program.Set {
	f := program.Flags(help, stdout)
	program.Inputs(f, &o.files, "input")
	o.input.Flags(f.FlagSet)
	f.StringVar(&o.workload, "workload", "", "the workload: `KIND/NAMESPACE/NAME`")
	report.Flag(f.FlagSet, &o.output)
	o.tables.Flags(f, "answer", "")
	return f
}

func parseFlags(args []string, stdout io.Writer) (o options, err error) {
	f := o.flags(stdout)
	if err := program.Parse(f, args); err != nil {
		return o, err
	}
	if err := cmp.Or(program.CheckInputs(o.files), report.Check(o.output), o.tables.Check(o.output)); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see no-pods -h", f.Arg(0))
	case o.workload == "":
		return o, errors.New("-workload: Required value: KIND/NAMESPACE/NAME, such as deployment/shop/web")
	}
	return o, nil
}
