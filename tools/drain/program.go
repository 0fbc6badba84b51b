// Package drain (experimental) is program drain: it says which pods block the drain of nodes, in which waves the others leave without breaking
// a PodDisruptionBudget, and where each goes. podberth and kubectl podberth call [Run].
package drain

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/scheduler/groups"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/page"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// options are the command line.
type options struct {
	program.Common
	program.Bounds
	nodes       []string
	selector    labels.Selector // nil: -l is not given
	evict       string
	drain       disruption.DrainOptions
	failBlocked bool
	expand      bool
	at          time.Time
	gates       groups.FeatureGates // of groups of pods, as the user says

	// As they are given: seconds, a selector, and the time of at.
	grace, skip       int64
	podSelector, time string
}

// Run runs the program with these arguments and streams. It returns the exit code. Results go to stdout in one piece, or not at all.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return program.Main("drain", parseFlags, answer)(ctx, args, stdin, stdout, stderr)
}

// answer writes what was asked for. It reports whether the exit code says no: a drain cannot begin, or -fail-blocked is given
// and a pod is blocked.
func answer(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) (no bool, err error) {
	in, err := load(o, stdin)
	if err != nil {
		return false, err
	}
	var out []byte
	var errs []string
	if o.evict != "" {
		var a *answered
		if a, err = in.evict(o); err != nil {
			return false, err
		}
		no = !a.Allowed && o.failBlocked
		out, err = report.Render(o.Output, a, a.table)
	} else {
		var p *plan
		if p, err = in.plan(ctx, o); err != nil {
			return false, err
		}
		errs, no = p.Errors, len(p.Errors) > 0 || len(p.Blocked) > 0 && o.failBlocked
		p.only(&o.Tables)
		if o.Output == page.Form {
			out, err = p.page(in, &o.Tables)
		} else {
			out, err = report.Render(o.Output, p, func(b *strings.Builder) {
				o.Tables.Layout.Nodes = in.objects.ShortNodes()
				p.table(b, &o.Tables)
				o.Tables.Cut(b, "")
			})
		}
	}
	if err != nil {
		return false, err
	}
	if err := report.Print(out, in.warnings, stdout, stderr); err != nil {
		return false, err
	}
	for _, text := range errs {
		if _, err := io.WriteString(stderr, "error: "+report.Escape(text)+"\n"); err != nil {
			return false, err
		}
	}
	return no, nil
}

// help is what -h prints before the flags.
var help = program.Help{
	Name: "drain", Purpose: "plans draining nodes: who blocks, who leaves in which wave, and where each goes.",
	Usage: []string{"drain -f PATH [flags] NODE...", "drain -f PATH -l LABELS [flags]", "drain -f PATH -evict NAMESPACE/NAME [flags]"},
	Examples: []string{
		"# which pods block the drain of a node, and in which waves the others leave",
		"drain -f cluster.yaml -delete-emptydir-data node-a1",
		"# the nodes of a zone together",
		"drain -f cluster.yaml -l topology.kubernetes.io/zone=a",
		"# what the Eviction API answers for a pod",
		"drain -f cluster.yaml -evict shop/web-0",
	},
}

// Flags returns the flags of the program, for programs that show or forward them. Setting these flags has no effect.
func Flags() *flag.FlagSet { return new(options).flags(io.Discard).FlagSet }

func (o *options) flags(stdout io.Writer) *program.Set {
	f := program.Flags(help, stdout)
	o.InputFlags(f, "input")
	f.BoolVar(&o.drain.Force, "force", false, "as of kubectl drain: delete pods without a controller")
	f.BoolVar(&o.drain.IgnoreDaemonSets, "ignore-daemonsets", true, "leave DaemonSet pods where they are; kubectl drain refuses without the flag, as =false does here")
	f.BoolVar(&o.drain.DeleteEmptyDirData, "delete-emptydir-data", false, "as of kubectl drain: delete pods whose emptyDir volumes lose their data")
	f.BoolVar(&o.drain.DisableEviction, "disable-eviction", false, "as of kubectl drain: delete without asking budgets")
	f.Int64Var(&o.grace, "grace-period", -1, "as of kubectl drain: `SECONDS` for every pod; without the flag each pod's own")
	f.Int64Var(&o.skip, "skip-wait-for-delete-timeout", 0, "as of kubectl drain: leave pods alone that have been terminating for more `SECONDS`; 0 leaves none alone")
	f.Func("l", "drain the nodes with these `LABELS` together, in place of NODE", func(text string) (err error) {
		o.selector, err = labels.Parse(text)
		return err
	})
	f.StringVar(&o.podSelector, "pod-selector", "", "as of kubectl drain: only pods with these `LABELS`")
	f.StringVar(&o.evict, "evict", "", "only what the Eviction API answers for one pod: `NAMESPACE/NAME`")
	f.BoolVar(&o.failBlocked, "fail-blocked", false, "exit 1 if a pod is blocked, or the eviction refused")
	f.BoolVar(&o.Input.Strict, "strict", false, "a pod on a node that is not in the input, and a field that the API does not have, are errors")
	f.BoolVar(&o.expand, "expand", false, "make the pods that workload objects ask for and the input lacks; they are pending")
	o.Bounds = program.Bounds{Steps: defaultSteps, Time: 10 * time.Minute}
	o.BoundFlags(f, "ask for at most `N` pods where they go", "ask for no more pods after this `DURATION`")
	f.Var(&o.gates, "feature-gates", dump.FeatureGatesUsage)
	f.StringVar(&o.time, "at", "", "`TIME` of the drain as 2026-03-02T08:00:00Z (now when not given)")
	o.OutputFlags(f, "pods", program.OfNames, page.Form)
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
		o.nodes, args = append(o.nodes, nodeName(f.Arg(0))), f.Args()[1:]
	}
	o.evict = o.Tables.Qualified(o.evict)
	if err := o.check(f); err != nil {
		return o, err
	}
	if o.skip < 0 {
		return o, fmt.Errorf("-skip-wait-for-delete-timeout: Invalid value: %d: must be seconds, not negative", o.skip)
	}
	if err := o.CheckBounds(); err != nil {
		return o, err
	}
	if o.grace >= 0 {
		o.drain.GracePeriodSeconds = &o.grace
	}
	o.drain.SkipWaitForDelete = resources.Seconds(o.skip)
	if o.drain.PodSelector, err = labels.Parse(o.podSelector); err != nil {
		return o, fmt.Errorf("-pod-selector: Invalid value: %q: %w", o.podSelector, err)
	}
	if o.at = time.Now(); o.time != "" {
		if o.at, err = program.At(o.time); err != nil {
			return o, err
		}
	}
	return o, nil
}

// check returns the first error about flags that do not go together.
func (o *options) check(f *program.Set) error {
	if err := o.Check(f, page.Form); err != nil {
		return err
	}
	switch {
	case o.evict != "" && len(o.nodes) > 0:
		return fmt.Errorf("unexpected argument %q: -evict is about one pod, not about nodes", o.nodes[0])
	case o.evict != "" && o.selector != nil:
		return errors.New("-l: Forbidden: -evict is about one pod, not about nodes")
	case len(o.nodes) > 0 && o.selector != nil:
		return fmt.Errorf("unexpected argument %q: -l chooses the nodes", o.nodes[0])
	case o.evict == "" && len(o.nodes) == 0 && o.selector == nil:
		return errors.New("NODE: Required value: at least one node, or -l")
	case o.evict != "" && o.Output == page.Form:
		return fmt.Errorf("-o: Unsupported value: %q: does nothing with -evict", o.Output)
	case o.evict != "" && !isName(o.evict):
		return fmt.Errorf("-evict: Invalid value: %q: must be NAMESPACE/NAME", o.evict)
	}
	return nil
}

// nodeName returns the name of a node that is given as NAME or, as kubectl prints it, as node/NAME.
func nodeName(text string) string {
	for _, kind := range []string{"node/", "nodes/", "no/"} {
		if name, found := strings.CutPrefix(text, kind); found {
			return name
		}
	}
	return text
}

func isName(s string) bool {
	namespace, name, ok := strings.Cut(s, "/")
	return ok && namespace != "" && name != "" && !strings.Contains(name, "/")
}
