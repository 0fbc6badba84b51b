// Package preflight (experimental) is program preflight: it says in one screen whether a cluster can be upgraded node by node now. It asks
// the programs rollout and upgrade and puts their answers together. podberth and kubectl podberth call [Run].
package preflight

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	planner "github.com/podberth/podberth/planning/rollout"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/scheduler/groups"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// options are the command line.
type options struct {
	program.Common
	program.Bounds
	from, to  string
	config    string
	gates     groups.FeatureGates // of groups of pods, as the user says
	force     bool
	emptyDirs bool
	surge     int
}

// Run runs the program with these arguments and streams; it ends with ctx. It returns the exit code: 0 when every node can be replaced and nothing changes
// for the pods, 1 when not, 2 for bad usage or input.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return program.Main("preflight", parseFlags, answer)(ctx, args, stdin, stdout, stderr)
}

// answer writes what the two programs say. It reports whether the answer is no.
func answer(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) (no bool, err error) {
	objects, err := dump.Read(o.Files, stdin, o.Input)
	if err != nil {
		return false, err
	}
	a := &preflight{Head: report.HeadOf("Preflight"), To: o.to, Blocked: []blocked{}, Waiting: []string{}, Budgets: []string{}, Pods: []changed{}, Fields: []changed{}, Kubelets: []string{}}
	if a.From, err = from(o, objects.Nodes); err != nil {
		return false, err
	}
	a.kubelets(objects.Nodes)
	for _, ask := range []func(context.Context, options, *dump.Objects, io.Writer) error{a.upgrade, a.rollout} {
		if err := ask(ctx, o, objects, stderr); err != nil {
			return false, err
		}
	}
	a.sum()
	out, err := report.Render(o.Output, a, func(b *strings.Builder) {
		o.Tables.Layout.Nodes = objects.ShortNodes()
		a.table(b, &o.Tables)
		o.Tables.Cut(b, report.NotTried(a.Unasked, "pod")+report.NotTried(a.Untried, "change"))
	})
	if err != nil {
		return false, err
	}
	return !a.OK, report.Print(out, objects.Warnings, stdout, stderr)
}

// help is what -h prints before the flags.
var help = program.Help{
	Name: "preflight", Purpose: "says in one screen whether a cluster can be upgraded node by node now.",
	Usage: []string{"preflight -f PATH -to VERSION [flags]"},
	Examples: []string{
		"# may this cluster go to 1.37 tonight?",
		"preflight -f cluster.yaml -to 1.37",
		"# behind one more node, in CI",
		"preflight -f cluster.yaml -to 1.37 -surge 1 -delete-emptydir-data -o json",
	},
}

// Flags returns the flags of the program, for programs that show or forward them. Setting these flags has no effect.
func Flags() *flag.FlagSet { return new(options).flags(io.Discard).FlagSet }

func (o *options) flags(stdout io.Writer) *program.Set {
	f := program.Flags(help, stdout)
	o.InputFlags(f, "input")
	f.StringVar(&o.to, "to", "", "the `VERSION` after: "+program.Releases())
	f.StringVar(&o.from, "from", "", "the `VERSION` before; the oldest kubelet of the input without")
	f.StringVar(&o.config, "config", "", "`FILE` with a KubeSchedulerConfiguration, whose first profile decides and whose fields are checked; the default profile without")
	f.Var(&o.gates, "feature-gates", dump.FeatureGatesUsage)
	f.IntVar(&o.surge, "surge", 0, "add `N` nodes first, which leave in the end")
	f.BoolVar(&o.force, "force", false, "as of kubectl drain: delete pods without a controller")
	f.BoolVar(&o.emptyDirs, "delete-emptydir-data", false, "as of kubectl drain: delete pods whose emptyDir volumes lose their data")
	o.Bounds = program.Bounds{Steps: planner.DefaultSteps, Time: time.Minute}
	o.BoundFlags(f, "make plans for `N` nodes at most to find what helps", "end the search for what helps, and the questions about pods, after this `DURATION` each")
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
	switch {
	case o.to == "":
		return o, errors.New("-to: Required value: a release such as 1.37")
	case o.surge < 0:
		return o, fmt.Errorf("-surge: Invalid value: %d: must not be negative", o.surge)
	}
	if err := o.CheckBounds(); err != nil {
		return o, err
	}
	for name, text := range map[string]string{"to": o.to, "from": o.from} {
		if _, err := release.Parse(text); text != "" && err != nil {
			return o, fmt.Errorf("-%s: Invalid value: %q: %w", name, text, err)
		}
	}
	return o, nil
}
