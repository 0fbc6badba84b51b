// Package check (experimental) is the command check: it says what is wrong in a running cluster: pods on nodes whose rules they no longer
// keep, and mistakes in the topology spread constraints of pods that belong together. It shows how the pods of a controller are spread,
// where more of them go, and which of them to delete first. podberth and kubectl podberth call [Run].
package check

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// options are the command line.
type options struct {
	program.Common
	spread string // the pod of -spread, "" for the whole cluster
	place  int
	delete int
	fail   bool
}

// Run runs the command with these arguments and streams. It returns the exit code. Results go to stdout in one piece, or not at all.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	stdout = program.Until(ctx, stdout)
	return program.Run("check", func() (no bool, err error) {
		o, err := parseFlags(args, stdout)
		if err != nil {
			return false, err
		}
		found, err := answer(ctx, o, stdin, stdout, stderr)
		return found && o.fail, err
	}, stderr)
}

// answer writes what was asked for and reports whether something is wrong.
func answer(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) (found bool, err error) {
	in, err := load(o, stdin)
	err = cmp.Or(err, program.Interrupted(ctx))
	if err != nil {
		return false, err
	}
	var out []byte
	if o.spread != "" {
		var s *spreadReport
		if s, err = in.spread(o); err != nil {
			return false, err
		}
		found = len(s.Findings) > 0
		out, err = report.Render(o.Output, s, func(b *strings.Builder) { s.table(b, o.Tables.Layout) })
	} else {
		var c *clusterCheck
		if c, err = in.check(ctx, o); err != nil {
			return false, err
		}
		found = len(c.Violations)+len(c.Findings) > 0
		out, err = report.Render(o.Output, c, func(b *strings.Builder) { c.table(b, o.Tables.Layout) })
	}
	if err != nil {
		return false, err
	}
	return found, report.Print(out, in.objects.Warnings, stdout, stderr)
}

// most is how many pods -place and -delete take at most.
const most = 100_000

// Flags returns the flags of the program, for programs that show or forward them. Setting these flags has no effect.
func Flags() *flag.FlagSet { return new(options).flags(io.Discard).FlagSet }

func (o *options) flags(stdout io.Writer) *program.Set {
	f := program.Flags(program.Help{
		Name: "check", Purpose: "says what is wrong in a running cluster, and how pods are spread.",
		Usage: []string{"check -f PATH [flags]", "check -f PATH -spread NAMESPACE/NAME [-place N] [-delete N]"},
		Examples: []string{
			"# running pods whose rules no longer hold, and mistakes in spread constraints",
			"check -f cluster.yaml",
			"# the domains of a pod's spread constraints, and where ten more pods like it go",
			"check -f cluster.yaml -spread shop/web-0 -place 10",
			"# which three pods of its controller to delete, so that the spread stays legal",
			"check -f cluster.yaml -spread shop/web-0 -delete 3",
		},
	}, stdout)
	o.InputFlags(f, "input")
	f.StringVar(&o.spread, "spread", "", "how the pods are spread that the constraints of one pod count: `NAMESPACE/NAME`")
	f.IntVar(&o.place, "place", 0, "with -spread: where `N` more pods like it go")
	f.IntVar(&o.delete, "delete", 0, "with -spread: which `N` pods of its controller to delete, in order")
	f.BoolVar(&o.fail, "fail-found", false, "exit 1 if something is wrong")
	f.BoolVar(&o.Input.Strict, "strict", false, "what is a warning otherwise is an error")
	o.OutputFlags(f, "pods", program.OfNames)
	return f
}

func parseFlags(args []string, stdout io.Writer) (o options, err error) {
	f := o.flags(stdout)
	if err := program.Parse(f, args); err != nil {
		return o, err
	}
	o.spread = o.Tables.Qualified(o.spread)
	if err := o.Check(f); err != nil {
		return o, err
	}
	switch {
	case o.place < 0 || o.place > most:
		return o, fmt.Errorf("-place: Invalid value: %d: not in valid range [1-%d]", o.place, most)
	case o.delete < 0 || o.delete > most:
		return o, fmt.Errorf("-delete: Invalid value: %d: not in valid range [1-%d]", o.delete, most)
	case o.spread == "" && o.place+o.delete > 0:
		return o, errors.New("-place, -delete: Forbidden: go with -spread")
	}
	return o, nil
}
