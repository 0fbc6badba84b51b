// Package rollout (experimental) is program rollout: it plans how every node of a cluster is replaced without stopping anything.
// podberth and kubectl podberth call [Run].
package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	planner "github.com/podberth/podberth/planning/rollout"
	"github.com/podberth/podberth/scheduler/groups"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/page"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// mostSurge bounds the surge nodes of a plan.
const mostSurge = 1000

// options are the command line.
type options struct {
	program.Common
	program.Bounds
	config      string
	gates       groups.FeatureGates // of groups of pods, as the user says
	nodes       []string
	selector    labels.Selector
	plan        planner.Options
	order       string
	like        string
	grace       int64
	start       time.Duration
	renew       time.Duration
	script      string
	failBlocked bool
	expand      bool
}

// Run runs the program with these arguments and streams. It returns the exit code. Results go to stdout in one piece, or not at all.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return program.Main("rollout", parseFlags, answer)(ctx, args, stdin, stdout, stderr)
}

// answer writes what was asked for. It reports whether -fail-blocked is given and a node is blocked.
func answer(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) (no bool, err error) {
	in, err := load(&o, stdin)
	if err != nil {
		return false, err
	}
	p, a, err := in.plan(ctx, o, stderr)
	if err != nil {
		return false, err
	}
	var out []byte
	if o.Output == page.Form {
		out, err = a.page(in, &o.Tables)
	} else {
		out, err = report.Render(o.Output, a, func(b *strings.Builder) {
			o.Tables.Layout.Nodes = in.objects.ShortNodes()
			a.table(b, o.Tables.Layout)
			o.Tables.Cut(b, a.remedies(o.Tables.Layout, o.Tables.All)+report.NotTried(a.Untried, "change"))
		})
	}
	if err != nil {
		return false, err
	}
	if o.script != "" {
		text, err := checkedScript(p, o)
		if err == nil {
			err = report.WriteText(o.script, 0o755, text)
		}
		if err != nil {
			return false, fmt.Errorf("-script: %w", err)
		}
	}
	return o.failBlocked && !p.Complete(), report.Print(out, in.warnings, stdout, stderr)
}

// plan makes the plan, and the answer in the form in which it is printed.
func (in *input) plan(ctx context.Context, o options, stderr io.Writer) (*planner.Plan, *rolloutPlan, error) {
	progress := report.NewProgress(stderr, "rollout", "nodes", nil)
	o.plan.Progress = progress.Step
	o.plan.Steps, o.plan.End = o.Steps, o.Stop(ctx)
	p, err := in.planner.Plan(o.plan)
	progress.End()
	if err != nil {
		return nil, nil, err
	}
	a := shown(p, o)
	a.Summary.Pods = a.Summary.Leaving + staying(p, in.objects.Pods, o.plan.Drain)
	if err := in.own(a); err != nil {
		return nil, nil, err
	}
	return p, a, nil
}

// Over returns the JSON answer about a cluster that was read already. args are the flags; -f is required, and nothing is read from there.
// Warnings are added to those of objects.
func Over(ctx context.Context, objects *dump.Objects, args []string, stderr io.Writer) ([]byte, error) {
	o, err := parseFlags(args, io.Discard)
	if err != nil {
		return nil, err
	}
	in, err := prepare(&o, objects)
	if err != nil {
		return nil, err
	}
	_, a, err := in.plan(ctx, o, stderr)
	if err != nil {
		return nil, err
	}
	return json.Marshal(a)
}

// help is what -h prints before the flags.
var help = program.Help{
	Name: "rollout", Purpose: "plans how every node is replaced without stopping anything, and says what would hang.",
	Usage: []string{"rollout -f PATH [flags] [NODE...]"},
	Examples: []string{
		"# every node, one after the other, behind one surge node",
		"rollout -f cluster.yaml -delete-emptydir-data -surge 1",
		"# a pool, three nodes at a time, with the times of pods and nodes",
		"rollout -f cluster.yaml -l pool=web -parallel 3 -start 20s -renew 4m",
		"# in CI, and the commands for kubectl",
		"rollout -f cluster.yaml -fail-blocked -script rollout.sh",
	},
}

// Flags returns the flags of the program, for programs that show or forward them. Setting these flags has no effect.
func Flags() *flag.FlagSet { return new(options).flags(io.Discard).FlagSet }

func (o *options) flags(stdout io.Writer) *program.Set {
	f := program.Flags(help, stdout)
	o.InputFlags(f, "input")
	f.Func("l", "replace the nodes with these `LABELS`, in place of NODE", func(text string) (err error) {
		o.selector, err = labels.Parse(text)
		return err
	})
	f.Var(&o.gates, "feature-gates", dump.FeatureGatesUsage)
	f.StringVar(&o.config, "config", "", "`FILE` with a KubeSchedulerConfiguration, whose first profile decides; the default profile without")
	f.StringVar(&o.order, "order", "", "the `ORDER` of the nodes: fewest-pods, or given; given when nodes are named")
	f.IntVar(&o.plan.Batch, "parallel", 1, "drain `N` nodes at once")
	f.IntVar(&o.plan.Surge, "surge", 0, "add `N` nodes first, which leave in the end")
	f.StringVar(&o.like, "surge-like", "", "the surge nodes are like this `NODE`; the first node to replace without")
	f.BoolVar(&o.plan.KeepSurge, "keep-surge", false, "the surge nodes stay")
	f.BoolVar(&o.plan.Drain.Force, "force", false, "as of kubectl drain: delete pods without a controller")
	f.BoolVar(&o.plan.Drain.IgnoreDaemonSets, "ignore-daemonsets", true, "leave DaemonSet pods where they are; kubectl drain refuses without the flag, as =false does here")
	f.BoolVar(&o.plan.Drain.DeleteEmptyDirData, "delete-emptydir-data", false, "as of kubectl drain: delete pods whose emptyDir volumes lose their data")
	f.Int64Var(&o.grace, "grace-period", -1, "as of kubectl drain: `SECONDS` for every pod; without the flag each pod's own")
	f.DurationVar(&o.plan.Timeout, "timeout", 0, "how long the drain of the nodes that are drained at once may take: a `DURATION`; 0: as long as it likes")
	f.DurationVar(&o.start, "start", 0, "how long a pod takes to become ready: a `DURATION`")
	f.DurationVar(&o.renew, "renew", 0, "how long a node takes from its last pod until it takes pods again: a `DURATION`")
	f.IntVar(&o.plan.Remedies, "remedies", 4, "try at most `N` changes for each deadlock; each makes the plan again")
	o.Bounds = program.Bounds{Steps: planner.DefaultSteps, Time: time.Minute}
	o.BoundFlags(f, "make plans for `N` nodes at most to try changes", "end the search for changes after this `DURATION`")
	f.StringVar(&o.script, "script", "", "write the kubectl commands of the plan to `FILE`")
	f.BoolVar(&o.failBlocked, "fail-blocked", false, "exit 1 if a node is blocked")
	f.BoolVar(&o.Input.Strict, "strict", false, "fields that the API does not have, and a pod on a node that is not in the input, are errors")
	f.BoolVar(&o.expand, "expand", false, "make the pods that workload objects ask for and the input lacks; they wait before the rollout")
	o.OutputFlags(f, "pods", "", page.Form)
	o.Tables.AllFlag(f)
	return f
}

func parseFlags(args []string, stdout io.Writer) (o options, err error) {
	f := o.flags(stdout)
	for { // flags may stand behind nodes, as with kubectl
		if err := program.Parse(f, args); err != nil {
			return o, err
		}
		if f.NArg() == 0 {
			break
		}
		o.nodes, args = append(o.nodes, strings.TrimPrefix(f.Arg(0), "node/")), f.Args()[1:]
	}
	if err := o.Check(f, page.Form); err != nil {
		return o, err
	}
	if o.selector != nil && o.nodes != nil {
		return o, errors.New("-l: Forbidden: name nodes or labels, not both")
	}
	if o.plan.Surge > mostSurge {
		return o, fmt.Errorf("-surge: Invalid value: %d: must be at most %d", o.plan.Surge, mostSurge)
	}
	if o.like != "" && o.plan.Surge == 0 {
		return o, errors.New("-surge-like: Forbidden: goes with -surge")
	}
	for _, x := range []struct {
		name  string
		value time.Duration
	}{{"start", o.start}, {"renew", o.renew}} {
		if x.value < 0 {
			return o, fmt.Errorf("-%s: Invalid value: %v: must not be negative", x.name, x.value)
		}
	}
	if err := o.CheckBounds(); err != nil {
		return o, err
	}
	if o.plan.Batch < 1 {
		return o, fmt.Errorf("-parallel: Invalid value: %d: must be 1 or more", o.plan.Batch)
	}
	if o.grace >= 0 {
		o.plan.Drain.GracePeriodSeconds = &o.grace
	}
	return o, nil
}
