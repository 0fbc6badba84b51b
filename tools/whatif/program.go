// Package whatif (experimental) is program what-if: it makes changes on a copy of a cluster and says which pods then wait, get a node, move
// or go. It asks program place about the cluster before and after. podberth and kubectl podberth call [Run].
package whatif

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/podberth/podberth/scheduler/groups"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// options are the command line.
type options struct {
	program.Common
	changes []change            // in the order of the command line
	gates   groups.FeatureGates // of groups of pods, as the user says
}

// Run runs the program with these arguments and streams; it ends with ctx. It returns the exit code. Results go to stdout in one piece, or not
// at all.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return program.Main("what-if", parseFlags, program.Never(reply))(ctx, args, stdin, stdout, stderr)
}

// reply makes the changes and writes the answer.
func reply(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) error {
	objects, err := dump.Read(o.Files, stdin, o.Input)
	if err != nil {
		return err
	}
	// The place of the objects before stays as it is: changes are made on what a held input gives.
	before := dump.Hold(objects)
	changed, err := dump.Read([]string{"-"}, before, o.Input)
	if err != nil {
		return err
	}
	w := &world{ctx: ctx, o: changed, moved: map[string]string{}, made: map[string]bool{}}
	w.options.Tolerations.ComparisonOperators = o.gates.Compares()
	changed.Tolerations = w.options.Tolerations
	for _, c := range o.changes {
		if err := program.Interrupted(ctx); err != nil {
			return err
		}
		if err := verbs[c.verb].make(w, c.text); err != nil {
			return fmt.Errorf("-%s: %w", c.verb, err)
		}
	}
	a, err := w.compare(before, o, stderr)
	if err != nil {
		return err
	}
	out, err := report.Render(o.Output, a, func(b *strings.Builder) {
		o.Tables.Layout.Nodes = changed.ShortNodes()
		a.table(b, &o.Tables)
		o.Tables.Cut(b, "")
	})
	if err != nil {
		return err
	}
	return report.Print(out, objects.Warnings, stdout, stderr)
}

// help is what -h prints before the flags.
var help = program.Help{
	Name: "what-if", Purpose: "says what waits, gets a node, moves and goes after changes of a cluster.",
	Usage: []string{"what-if -f PATH -CHANGE VALUE... [flags]"},
	Examples: []string{
		"# a node goes, and another one like n2 comes",
		"what-if -f cluster.yaml -remove-node n1 -add-node-like n2",
		"# more replicas that ask for less",
		"what-if -f cluster.yaml -request deployment/shop/web=cpu=250m -scale deployment/shop/web=8",
	},
}

// Flags returns the flags of the program, for programs that show or forward them. Setting these flags has no effect.
func Flags() *flag.FlagSet { return new(options).flags(io.Discard).FlagSet }

func (o *options) flags(stdout io.Writer) *program.Set {
	f := program.Flags(help, stdout)
	o.InputFlags(f, "input")
	for _, name := range Verbs {
		f.Func(name, verbs[name].usage+"; repeatable, in the order of the command line", func(text string) error {
			o.changes = append(o.changes, change{name, text})
			return nil
		})
	}
	f.Var(&o.gates, "feature-gates", dump.FeatureGatesUsage)
	o.OutputFlags(f, "pods", "")
	o.Tables.AllFlag(f)
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
	if len(o.changes) == 0 {
		return o, bad("Required value", "at least one change: -%s", strings.Join(Verbs, ", -"))
	}
	return o, nil
}
