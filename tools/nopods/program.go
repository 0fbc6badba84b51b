// Package nopods (experimental) is program no-pods: it says why a workload has no pods, or fewer than it wants, because the API server
// refuses them, and what would let them in. podberth and kubectl podberth call [Run].
package nopods

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"

	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// options are the command line.
type options struct {
	program.Common
	workload string
}

// Run runs the program with these arguments and streams; it ends with ctx. It returns the exit code. Results go to stdout in one piece, or not
// at all.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return program.Main("no-pods", parseFlags, program.Never(reply))(ctx, args, stdin, stdout, stderr)
}

// reply prints what kubectl describe does not say of a workload without pods.
func reply(_ context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) error {
	objects, err := dump.Read(o.Files, stdin, o.Input)
	if err != nil {
		return err
	}
	a, err := ask(objects, o.workload)
	if err != nil {
		return err
	}
	out, err := report.Render(o.Output, a, func(b *strings.Builder) { a.write(b, o.Tables.Layout) })
	if err != nil {
		return err
	}
	return report.Print(out, objects.Warnings, stdout, stderr)
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
	o.InputFlags(f, "input")
	f.StringVar(&o.workload, "workload", "", "the workload: `KIND/NAMESPACE/NAME`")
	o.OutputFlags(f, "answer", "")
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
	if o.workload == "" {
		return o, errors.New("-workload: Required value: KIND/NAMESPACE/NAME, such as deployment/shop/web")
	}
	return o, nil
}
