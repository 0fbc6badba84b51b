// Package consolidate (experimental) is program consolidate: it plans which nodes of a cluster can be emptied.
// podberth and kubectl podberth call [Run].
package consolidate

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/podberth/podberth/planning/consolidation"
	"github.com/podberth/podberth/scheduler/groups"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// options are the command line.
type options struct {
	program.Common
	program.Bounds
	types      []string
	config     string
	gates      groups.FeatureGates // of groups of pods, as the user says
	priceLabel string
	defragment string
	// freeDomains is the label of domains to free whole, gang the group of which more are counted.
	freeDomains string
	gang        string
	maxMoves    int
	seed        uint64
	oneStep     bool
	why         string
	emptyDirs   bool
	annotated   bool
}

// Run runs the program with these arguments and streams. It returns the exit code. Results go to stdout in one piece, or not at all.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return program.Main("consolidate", parseFlags, program.Never(answer))(ctx, args, stdin, stdout, stderr)
}

// answer writes the plan.
func answer(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) error {
	in, err := load(o, stdin)
	if err != nil {
		return err
	}
	a, err := in.plan(ctx, o, stderr)
	if err != nil {
		return err
	}
	out, err := report.Render(o.Output, a, func(b *strings.Builder) {
		o.Tables.Layout.Nodes = in.short
		a.table(b, o.Tables)
		o.Tables.Cut(b, a.Summary.notTried())
	})
	if err != nil {
		return err
	}
	return report.Print(out, in.warnings, stdout, stderr)
}

// help is what -h prints before the flags.
var help = program.Help{
	Name: "consolidate", Purpose: "says which nodes of a cluster can be emptied and removed, and in which order their pods move.",
	Usage: []string{"consolidate -f PATH [flags]"},
	Examples: []string{
		"# as few nodes as possible",
		"consolidate -f cluster.yaml",
		"# as cheap as possible, with a minute to search, and nodes that could be added",
		"consolidate -f cluster.yaml -price-label example.com/price -time 1m -types types.yaml",
		"# the one node that is best emptied now",
		"consolidate -f cluster.yaml -one-step",
		"# why a node stays, and where its pods would go",
		"consolidate -f cluster.yaml -why node-a1",
		"# as many GPUs as possible on nodes where none is in use, with at most 20 moves",
		"consolidate -f cluster.yaml -defragment nvidia.com/gpu -max-moves 20",
		"# as many whole racks free as possible, and how many more gangs like train fit then",
		"consolidate -f cluster.yaml -free-domains example.com/rack -gang podgroup/train",
	},
}

// Flags returns the flags of the program, for programs that show or forward them. Setting these flags has no effect.
func Flags() *flag.FlagSet { return new(options).flags(io.Discard).FlagSet }

func (o *options) flags(stdout io.Writer) *program.Set {
	f := program.Flags(help, stdout)
	o.InputFlags(f, "input")
	f.Var(&o.gates, "feature-gates", dump.FeatureGatesUsage)
	f.StringVar(&o.config, "config", "", "`FILE` with a KubeSchedulerConfiguration, whose first profile decides; the default profile without")
	f.StringVar(&o.priceLabel, "price-label", "", "node `LABEL` with the price, a number such as 0.096; every node costs 1 without")
	f.Func("types", "`PATH` of Node objects that could be added, each as often as it helps, up to ten times (repeatable)", func(path string) error {
		o.types = append(o.types, path)
		return nil
	})
	f.StringVar(&o.defragment, "defragment", "", "remove no nodes: free this `RESOURCE`, such as nvidia.com/gpu, on whole nodes")
	f.StringVar(&o.freeDomains, "free-domains", "", "remove no nodes: free as many whole domains as possible, such as racks, by this node `LABEL`")
	f.StringVar(&o.gang, "gang", "", "also count how many more gangs like this `GROUP` fit before and after the plan: podgroup/NAME")
	f.IntVar(&o.maxMoves, "max-moves", 0, "at most `N` moves; 0: no limit")
	o.Bounds = program.Bounds{Steps: consolidation.DefaultSteps, Time: time.Minute}
	o.BoundFlags(f, "search for `N` steps after the first plan; with -time and without -steps: no limit", "end the search after this `DURATION`")
	f.Uint64Var(&o.seed, "seed", 0, "`SEED` of the search")
	f.BoolVar(&o.oneStep, "one-step", false, "only the one node that is best emptied now")
	f.StringVar(&o.why, "why", "", "say why this `NODE` stays: which of its pods would find another node, and which not")
	f.BoolVar(&o.emptyDirs, "delete-emptydir-data", false, "pods with emptyDir volumes may move, and their data is lost")
	f.BoolVar(&o.annotated, "ignore-annotations", false, "the annotations safe-to-evict and do-not-disrupt hold no pod")
	f.BoolVar(&o.Input.Strict, "strict", false, "fields that the API does not have, and a pod on a node that is not in the input, are errors")
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
	for _, x := range []struct {
		name string
		n    int
	}{{"max-moves", o.maxMoves}, {"steps", o.Steps}} {
		if x.n < 0 {
			return o, fmt.Errorf("-%s: Invalid value: %d: must not be negative", x.name, x.n)
		}
	}
	if err := o.CheckTime(); err != nil {
		return o, err
	}
	if o.defragment != "" && o.why != "" {
		return o, fmt.Errorf("-why: Forbidden: with -defragment")
	}
	if o.defragment != "" && (o.priceLabel != "" || len(o.types) > 0) {
		return o, fmt.Errorf("-defragment: Forbidden: with -price-label or -types")
	}
	if o.freeDomains != "" && (o.priceLabel != "" || len(o.types) > 0 || o.defragment != "" || o.why != "") {
		return o, fmt.Errorf("-free-domains: Forbidden: with -price-label, -types, -defragment or -why")
	}
	if o.gang != "" && o.why != "" {
		return o, fmt.Errorf("-gang: Forbidden: with -why")
	}
	given := map[string]bool{}
	f.Visit(func(x *flag.Flag) { given[x.Name] = true })
	if given["time"] && o.Time > 0 && !given["steps"] {
		o.Steps = math.MaxInt
	}
	return o, nil
}
