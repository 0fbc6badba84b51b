// Package taints (experimental) is the command taints: it says which pods taints make leave their nodes, and when.
// podberth and kubectl podberth call [Run].
package taints

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/scheduler/groups"
	"github.com/podberth/podberth/tools/page"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// options are the command line.
type options struct {
	program.Common
	events string

	stop, stopZones []string // nodes and zones whose kubelets fall silent at the start

	until  time.Duration // negative: not given
	at     time.Time     // of the start
	time   string        // at, as given
	admit  bool
	gates  groups.FeatureGates
	config taint.Config
}

// Run runs the program with these arguments and streams. It returns the exit code. Results go to stdout in one piece, or not at all.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return program.Main("taints", parseFlags, program.Never(reply))(ctx, args, stdin, stdout, stderr)
}

func reply(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) error {
	in, warnings, err := load(o, stdin)
	err = cmp.Or(err, program.Interrupted(ctx))
	if err != nil {
		return err
	}
	line, err := taint.Forecast(in)
	if err != nil {
		return err
	}
	a := answerOf(line, in.Pods, &o.Tables)
	if o.Output == page.Form {
		warnings.Print(stderr)
		return a.page(in, &o.Tables).Write(stdout)
	}
	out, err := report.Render(o.Output, a, func(b *strings.Builder) {
		names := make([]string, len(in.Nodes))
		for i, n := range in.Nodes {
			names[i] = n.Name
		}
		o.Tables.Layout.Nodes = report.ShortNodes(names)
		a.table(b, &o.Tables)
		o.Tables.Cut(b, "")
	})
	if err != nil {
		return err
	}
	return report.Print(out, warnings, stdout, stderr)
}

// longest is how far a forecast looks at most; it walks through every monitor pass.
const longest = 30 * 24 * time.Hour

// Flags returns the flags of the program, for programs that show or forward them. Setting these flags has no effect.
func Flags() *flag.FlagSet { return new(options).flags(io.Discard).FlagSet }

func (o *options) flags(stdout io.Writer) *program.Set {
	f := program.Flags(program.Help{
		Name: "taints", Purpose: "says which pods taints make leave their nodes, and when.",
		Usage: []string{"taints -f PATH -stop NODE [flags]", "taints -f PATH -stop-zone ZONE [flags]", "taints -f PATH -events FILE [flags]", "taints -f PATH [flags]"},
		Examples: []string{
			"# the kubelet of a node falls silent",
			"taints -f cluster.yaml -stop node-a1 -admit",
			"# all kubelets of a zone fall silent",
			"taints -f cluster.yaml -stop-zone eu-1a -admit",
			"# what events.yaml says",
			"taints -f cluster.yaml -events events.yaml -until 30m",
			"# devices have NoExecute taints, or a DeviceTaintRule gives them such",
			"taints -f cluster.yaml -f rule.yaml",
		},
		Files: append([]string{"# events.yaml, for -events: each event has at, node, and one of heartbeats, condition with status, taint, unschedulable, deleted"}, sample...),
	}, stdout)
	o.InputFlags(f, "nodes and pods; claims, ResourceSlices and DeviceTaintRules for taints of devices")
	list := func(to *[]string, name, usage string) {
		f.Func(name, usage, func(s string) error { *to = append(*to, s); return nil })
	}
	list(&o.stop, "stop", "the kubelet of this `NODE` falls silent at the start, repeatable")
	list(&o.stopZones, "stop-zone", "the kubelets of all nodes of this `ZONE` fall silent at the start, repeatable")
	f.StringVar(&o.events, "events", "", "`FILE` with what happens when")
	f.DurationVar(&o.until, "until", -1, "look until this `DURATION` after the beginning (10m after the last event when not given)")
	f.StringVar(&o.time, "at", "", "`TIME` of the start as 2026-03-02T08:00:00Z, for taints of devices (now when not given)")
	f.BoolVar(&o.admit, "admit", false, "give pods the tolerations of 300 seconds that admission gives them")
	f.Var(&o.gates, "feature-gates", "turn feature gates on or off, as kube-scheduler's flag: `GATE=true|false,...`; with the one of comparisons Gt and Lt of tolerations count")
	f.BoolVar(&o.Input.Strict, "strict", false, "what is a warning otherwise is an error")
	o.OutputFlags(f, "pods", "", page.Form)
	o.Tables.AllFlag(f)
	controllerFlags(f.FlagSet, &o.config)
	return f
}

func parseFlags(args []string, stdout io.Writer) (o options, err error) {
	f := o.flags(stdout)
	if err := program.Parse(f, args); err != nil {
		return o, err
	}
	untilGiven := false
	f.Visit(func(g *flag.Flag) { untilGiven = untilGiven || g.Name == "until" })
	if err := o.Check(f, page.Form); err != nil {
		return o, err
	}
	switch {
	case o.events == "-" && slices.Contains(o.Files, "-"):
		return o, errors.New("-events: Invalid value: \"-\": standard input can be read once only")
	case untilGiven && (o.until < 0 || o.until > longest):
		return o, fmt.Errorf("-until: Invalid value: %q: must be from 0s to %v", o.until, longest)
	case o.config.MonitorPeriod != 0 && o.config.MonitorPeriod < taint.ServePeriod:
		return o, fmt.Errorf("-node-monitor-period: Invalid value: %q: must be at least %v", o.config.MonitorPeriod, taint.ServePeriod)
	}
	if o.at = time.Now(); o.time != "" {
		if o.at, err = program.At(o.time); err != nil {
			return o, err
		}
	}
	for _, bad := range o.config.Validate(nil) {
		return o, fmt.Errorf("-%s: Invalid value: %v: %s", controllerFlag[bad.Field], bad.BadValue, bad.Detail)
	}
	return o, nil
}

// sample is a file of events, for the help.
var sample = []string{
	"events:",
	"- {at: 10s, node: node-a1, heartbeats: stop}",
	"- {at: 4m, node: node-a1, heartbeats: resume}",
	`- {at: 5m, node: node-a2, condition: MemoryPressure, status: "True"}`,
	`- {at: 6m, node: node-b1, taint: "maintenance=disk:NoExecute"}`,
	"- {at: 7m, node: node-b1, unschedulable: true}",
	"- {at: 8m, node: node-c1, deleted: true}",
}

// controllerFlag maps fields of the configuration to flags of kube-controller-manager.
var controllerFlag = map[string]string{
	"monitorPeriod": "node-monitor-period", "gracePeriod": "node-monitor-grace-period", "startupGrace": "node-startup-grace-period",
	"evictionRate": "node-eviction-rate", "secondaryRate": "secondary-node-eviction-rate",
	"largeCluster": "large-cluster-size-threshold", "unhealthyThreshold": "unhealthy-zone-threshold",
}

func controllerFlags(f *flag.FlagSet, c *taint.Config) {
	f.DurationVar(&c.MonitorPeriod, controllerFlag["monitorPeriod"], 0, "`DURATION` as of kube-controller-manager (5s when not given)")
	f.DurationVar(&c.GracePeriod, controllerFlag["gracePeriod"], 0, "`DURATION` as of kube-controller-manager (50s when not given)")
	f.DurationVar(&c.StartupGrace, controllerFlag["startupGrace"], 0, "`DURATION` as of kube-controller-manager (1m when not given)")
	number := func(name, usage string, to **float32) {
		f.Func(controllerFlag[name], usage, func(s string) error {
			n, err := strconv.ParseFloat(s, 32)
			if err != nil {
				return errors.New("must be a number")
			}
			value := float32(n)
			*to = &value
			return nil
		})
	}
	number("evictionRate", "as of kube-controller-manager, `NODES` a second (0.1 when not given)", &c.EvictionRate)
	number("secondaryRate", "as of kube-controller-manager, `NODES` a second (0.01 when not given)", &c.SecondaryRate)
	number("unhealthyThreshold", "as of kube-controller-manager, a `SHARE` (0.55 when not given)", &c.UnhealthyThreshold)
	f.Func(controllerFlag["largeCluster"], "as of kube-controller-manager, `NODES` (50 when not given)", func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil {
			return errors.New("must be an integer")
		}
		c.LargeCluster = &n
		return nil
	})
}
