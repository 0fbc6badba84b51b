// Package failures (experimental) is program failures: it says what happens to the pods of a cluster when nodes or zones fail.
// podberth and kubectl podberth call [Run].
package failures

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/podberth/podberth/planning/failures"
	"github.com/podberth/podberth/scheduler/groups"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// options are the command line.
type options struct {
	program.Common
	program.Bounds
	config      string
	gates       groups.FeatureGates // of groups of pods, as the user says
	scenarios   []string
	by          []string
	pairs       int
	seed        uint64
	orders      int
	until       time.Duration
	headroom    bool
	limit       int
	remedies    int
	workers     int
	failPending bool
	expand      bool
	prometheus  string
}

// Run runs the program with these arguments and streams. It returns the exit code. Results go to stdout in one piece, or not at all.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return program.Main("failures", parseFlags, answer)(ctx, args, stdin, stdout, stderr)
}

// answer writes what was asked for. It reports whether -fail-pending is given and a pod stays pending.
func answer(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) (no bool, err error) {
	in, err := load(o, stdin)
	if err != nil {
		return false, err
	}
	a, err := in.play(ctx, o, stderr)
	if err != nil {
		return false, err
	}
	out, err := report.Render(o.Output, a, func(b *strings.Builder) {
		o.Tables.Layout.Nodes = in.objects.ShortNodes()
		a.table(b, o.Tables)
		o.Tables.Cut(b, a.end())
	})
	if err != nil {
		return false, err
	}
	if o.prometheus != "" {
		if err := writeMetrics(o.prometheus, a); err != nil {
			return false, err
		}
	}
	return o.failPending && a.Summary.Failing > 0, report.Print(out, in.warnings, stdout, stderr)
}

// help is what -h prints before the flags.
var help = program.Help{
	Name: "failures", Purpose: "says what happens to the pods of a cluster when nodes or zones fail.",
	Usage: []string{"failures -f PATH [flags]"},
	Examples: []string{
		"# every node and every zone, the worst first",
		"failures -f cluster.yaml",
		"# two nodes together, and the racks",
		"failures -f cluster.yaml -scenario node-a1,node-b1 -by example.com/rack",
		"# how many nodes may fail, and what would let the cluster survive one",
		"failures -f cluster.yaml -headroom",
		"# in CI, and for node_exporter's textfile collector",
		"failures -f cluster.yaml -fail-pending -prometheus failures.prom",
	},
}

// Flags returns the flags of the program, for programs that show or forward them. Setting these flags has no effect.
func Flags() *flag.FlagSet { return new(options).flags(io.Discard).FlagSet }

func (o *options) flags(stdout io.Writer) *program.Set {
	f := program.Flags(help, stdout)
	o.InputFlags(f, "input")
	f.Var(&o.gates, "feature-gates", dump.FeatureGatesUsage)
	f.StringVar(&o.config, "config", "", "`FILE` with a KubeSchedulerConfiguration, whose first profile decides; the default profile without")
	f.Func("scenario", "play the failure of these `NODES` together, parted by commas (repeatable)", func(text string) error {
		if text == "" {
			return errors.New("must name nodes")
		}
		o.scenarios = append(o.scenarios, text)
		return nil
	})
	f.Func("by", "play the failure of each value of a node `LABEL` (repeatable); without -by, -scenario and -pairs every node and every zone", func(text string) error {
		if text == "" {
			return errors.New("must be a label")
		}
		o.by = append(o.by, text)
		return nil
	})
	f.IntVar(&o.pairs, "pairs", 0, "play `N` pairs of nodes too: all pairs when there are no more, else a sample by -seed")
	f.Uint64Var(&o.seed, "seed", 0, "`SEED` of the sample of pairs and of -orders")
	f.IntVar(&o.orders, "orders", 0, "play each scenario in `N` more orders of re-creation, and print the fewest and the most pending pods")
	f.DurationVar(&o.until, "until", 0, "forecast for this `DURATION` when taint-based eviction deletes the lost pods; 0: no forecast")
	f.BoolVar(&o.headroom, "headroom", false, "look for the smallest set of nodes whose failure leaves a pod pending, and for remedies")
	f.IntVar(&o.limit, "limit", 2000, "with -headroom: play at most `N` sets of two nodes or more")
	f.IntVar(&o.remedies, "remedies", 3, "with -headroom: check at most `N` remedies of each kind")
	o.Bounds = program.Bounds{Steps: failures.DefaultSteps, Time: 10 * time.Minute}
	o.BoundFlags(f, "play at most `N` scenarios; each order of -orders is one; -limit is that of -headroom", "play no more scenarios after this `DURATION`")
	f.IntVar(&o.workers, "workers", 0, "play `N` scenarios at a time; 0: as many as there are processors")
	f.BoolVar(&o.failPending, "fail-pending", false, "exit 1 if a scenario leaves a pod pending")
	f.BoolVar(&o.Input.Strict, "strict", false, "fields that the API does not have, and a pod on a node that is not in the input, are errors")
	f.BoolVar(&o.expand, "expand", false, "make the pods that workload objects ask for and the input lacks; they get nodes before the failure where nodes take them")
	f.StringVar(&o.prometheus, "prometheus", "", "write the result to `FILE` in Prometheus' text format")
	o.OutputFlags(f, "pending pods, budgets and workloads", "")
	o.Tables.AllFlag(f)
	return f
}

func parseFlags(args []string, stdout io.Writer) (o options, err error) {
	f := o.flags(stdout)
	if err := program.Parse(f, args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: name nodes with -scenario", f.Arg(0))
	}
	if err := o.Check(f); err != nil {
		return o, err
	}
	for name, n := range map[string]int{"pairs": o.pairs, "orders": o.orders, "limit": o.limit, "remedies": o.remedies, "workers": o.workers} {
		if n < 0 {
			return o, fmt.Errorf("-%s: Invalid value: %d: must not be negative", name, n)
		}
	}
	if err := o.CheckBounds(); err != nil {
		return o, err
	}
	if o.until < 0 {
		return o, fmt.Errorf("-until: Invalid value: %v: must not be negative", o.until)
	}
	return o, nil
}
