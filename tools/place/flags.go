package place

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/page"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

const wide = "wide" // the form of output that has more columns than a table

// extendedResources is the admission plugin that -admit can turn on.
const extendedResources = "ExtendedResourceToleration"

var help = program.Help{
	Name: "place", Purpose: "schedules the pending pods of a cluster dump and prints where each went and why not.",
	Usage: []string{"place -f PATH [flags]", "place -f PATH -explain NAMESPACE/NAME [-where NODE] [-all]", "place -f PATH -how-many NAMESPACE/NAME", "place -f PATH -pack", "place -f PATH [-config FILE] -against FILE"},
	Examples: []string{
		"# where the pending pods go",
		"place -f cluster.yaml",
		"# why a pod waits, or why it runs where it runs",
		"place -f cluster.yaml -explain shop/web-0",
		"# why it does not go to zone a, and what would have to change",
		"place -f cluster.yaml -explain shop/web-0 -where topology.kubernetes.io/zone=a",
		"# how many more pods like it fit",
		"place -f cluster.yaml -how-many shop/web-0",
		"# cordon a node first, and use ten more pods",
		"place -f cluster.yaml -cordon n1 -add pod.yaml -count 10",
		"# every verdict and score of one pod",
		"place -f cluster.yaml -o json -detail=shop/web-0",
		"# what another configuration of the scheduler would change",
		"place -f cluster.yaml -config a.yaml -against b.yaml",
		"# a page for the browser",
		"place -f cluster.yaml -o html > cluster.html",
	},
}

// Flags returns the flags of the program, for programs that show or forward them. Setting these flags has no effect.
func Flags() *flag.FlagSet { return new(options).flags(io.Discard).FlagSet }

func (o *options) flags(stdout io.Writer) *program.Set {
	f := program.Flags(help, stdout)
	o.InputFlags(f, "input")
	f.StringVar(&o.config, "config", "", "`FILE` with a KubeSchedulerConfiguration; the default profile without")
	f.StringVar(&o.against, "against", "", "`FILE` with a second KubeSchedulerConfiguration: say what differs when it decides in place of -config")
	f.StringVar(&o.priceLabel, "price-label", "", "with -against: node `LABEL` with the price, a number such as 0.096; every node costs 1 without")
	report.Flag(f.FlagSet, &o.Output, wide, page.Form)
	f.Var(&o.detail, "detail", "with json and yaml: every plugin's verdict and score of every node, for all pods or for one, `[=NAMESPACE/NAME]`, repeatable")
	o.Tables.Flags(f, "pods", program.OfNames)
	f.StringVar(&o.explain, "explain", "", "explain one pod, waiting or running: `NAMESPACE/NAME`, or the pods of an owner or group: deployment/NAME")
	f.StringVar(&o.where, "where", "", "with -explain: why the pod does not go there, and what would have to change: a `NODE` or a label selector such as topology.kubernetes.io/zone=a")
	o.Bounds = program.Bounds{Steps: 20000, Time: time.Minute}
	o.BoundFlags(f, "with -explain and -pack: search for `N` steps for changes or a better plan", "with -explain, -pack and -preemption optimal: end each search after this `DURATION`")
	f.BoolVar(&o.brief, "brief", false, "with -explain: of a pod that waits the answer alone, without what rejects it where and what it asks for")
	f.BoolVar(&o.all, "all", false, "with -explain: every node, not the best twenty")
	f.BoolFunc("admit", "run admission on all pending pods, and refuse what the API server refuses; with `=ExtendedResourceToleration` this plugin too, which is off by default", func(text string) error {
		switch text {
		case "true", "false":
			o.admit = text == "true"
		case extendedResources:
			o.admit, o.admission.ExtendedResources = true, true
		default:
			return fmt.Errorf("must be true, false or %s", extendedResources)
		}
		return nil
	})
	f.BoolVar(&o.expand, "expand", false, "make the pods that workload objects ask for and the input lacks")
	f.BoolVar(&o.strict, "strict", false, "list everything that is wrong with the input and exit 2: objects that the API server would refuse, pods on nodes that are not in the input, fields that the API does not have")
	f.Uint64Var(&o.seed, "seed", 0, "choose among equally good nodes by this `SEED`; without it the first in node order is taken")
	f.IntVar(&o.percentage, "percentage", -1, "percentageOfNodesToScore of all profiles, a `PERCENT` from 0 to 100 (100 when neither it nor -config is given)")
	f.StringVar(&o.preemption, "preemption", defaultPreemption, "which victims give way: kube-scheduler's (`default`, when not given), or the best ones (optimal)")
	f.BoolVar(&o.grace, "grace", false, "victims run out their grace periods in virtual time")
	f.StringVar(&o.timeline, "timeline", "", "`FILE` of events by virtual time: at, and add, update or delete of an object")
	f.StringVar(&o.log, "log", "", "`FILE` for every move in the queue and every attempt, in virtual time; - is standard output")
	list := func(to *[]string, name, usage string) {
		f.Func(name, usage, func(s string) error { *to = append(*to, s); return nil })
	}
	list(&o.cordon, "cordon", "cordon this `NODE` first, repeatable")
	list(&o.taint, "taint", "taint a node first: `NODE:KEY=VALUE:EFFECT`, repeatable")
	list(&o.add, "add", "also use the nodes, pods and workloads in `FILE`, repeatable")
	f.IntVar(&o.count, "count", 1, "make `N` copies of each object in the files of -add")
	f.Var(&o.featureGates, "feature-gates", dump.FeatureGatesUsage)
	f.StringVar(&o.howMany, "how-many", "", "say how many more pods like `NAMESPACE/NAME`, or like a pod of an owner or group, fit, up to 100000")
	f.BoolVar(&o.pack, "pack", false, "say how more pods of high priority get nodes if running pods move or leave, and what no plan can exceed")
	f.BoolVar(&o.nodeMap, "map", false, "draw how full zones and nodes are after the run")
	f.BoolVar(&o.failUnschedulable, "fail-unschedulable", false, "exit 1 if a pod stayed without a node")
	f.BoolVar(&o.failErrors, "fail-errors", false, "exit 1 if a pod was refused or ended with an error")
	return f
}

func parseFlags(args []string, stdout io.Writer) (o options, err error) {
	f := o.flags(stdout)
	if err := program.Parse(f, args); err != nil {
		return o, err
	}
	if err := cmp.Or(o.Check(f, wide, page.Form), o.CheckBounds()); err != nil {
		return o, err
	}
	o.explain, o.howMany = o.Tables.Qualified(o.explain), o.Tables.Qualified(o.howMany)
	for k, name := range o.detail.pods {
		o.detail.pods[k] = o.Tables.Qualified(name)
	}
	given := map[string]bool{}
	f.Visit(func(g *flag.Flag) { given[g.Name] = true })
	if err := o.check(); err != nil {
		return o, err
	}
	return o, o.checkTogether(given)
}

// check returns an error for a value that a flag does not take.
func (o options) check() error {
	switch {
	case o.percentage < -1 || o.percentage > 100:
		return fmt.Errorf("-percentage: Invalid value: %d: not in valid range [0-100]", o.percentage)
	case o.preemption != defaultPreemption && o.preemption != optimalPreemption:
		return fmt.Errorf("-preemption: Unsupported value: %q: supported values: %q, %q", o.preemption, defaultPreemption, optimalPreemption)
	case o.count < 1 || o.count > 1000000:
		return fmt.Errorf("-count: Invalid value: %d: not in valid range [1-1000000]", o.count)
	}
	return nil
}

// ignoredFlags has the flags that do nothing beside -against, -explain, -how-many or -pack.
var ignoredFlags = map[string][]string{
	"against":  {"explain", "how-many", "pack", "log", "detail", "map"},
	"explain":  {"how-many", "log", "detail", "no-headers", "map"},
	"how-many": {"log", "detail", "timeline", "grace", "seed", "map"},
	"pack":     {"explain", "how-many", "log", "detail", "timeline", "grace", "preemption", "map"},
}

// checkTogether returns an error for flags that do nothing together.
func (o options) checkTogether(given map[string]bool) error {
	for _, question := range []string{"against", "explain", "how-many", "pack"} {
		for _, name := range ignoredFlags[question] {
			if given[question] && given[name] {
				return fmt.Errorf("-%s: Forbidden: does nothing with -%s", name, question)
			}
		}
		if given[question] && (o.Output == wide || o.Output == page.Form && question != "explain" && question != "against") {
			return fmt.Errorf("-o: Unsupported value: %q: does nothing with -%s", o.Output, question)
		}
	}
	data := report.IsData(o.Output) || o.Output == page.Form
	switch {
	case given["count"] && len(o.add) == 0:
		return errors.New("-count: Invalid value: goes with -add")
	case given["all"] && o.explain == "":
		return errors.New("-all: Invalid value: true: goes with -explain")
	case given["price-label"] && o.against == "":
		return fmt.Errorf("-price-label: Invalid value: %q: goes with -against", o.priceLabel)
	case given["against"] && o.against == "":
		return errors.New("-against: Invalid value: \"\": must name a file")
	case given["where"] && o.explain == "":
		return fmt.Errorf("-where: Invalid value: %q: goes with -explain", o.where)
	case o.detail.on && !report.IsData(o.Output):
		return errors.New("-detail: Invalid value: true: goes with -o json or -o yaml")
	case o.nodeMap && data:
		return errors.New("-map: Invalid value: true: goes with tables")
	case o.log == "-" && data:
		return errors.New("-log: Invalid value: \"-\": goes with tables")
	}
	return nil
}

// detail is the flag -detail: off, for all pods, or for some.
type detail struct {
	on   bool
	pods []string // nil: all
}

// IsBoolFlag lets the flag stand alone.
func (*detail) IsBoolFlag() bool { return true }

func (d *detail) String() string { return "" }

// Set takes true, false or the name of a pod.
func (d *detail) Set(text string) error {
	switch text {
	case "true":
		*d = detail{on: true}
	case "false":
		*d = detail{}
	default:
		d.on, d.pods = true, append(d.pods, text)
	}
	return nil
}

// of reports whether the detail of a pod is asked for.
func (d detail) of(pod string) bool { return d.on && (d.pods == nil || slices.Contains(d.pods, pod)) }

// known returns an error when -explain, -how-many or -detail names a pod that is not in the input. With a timeline the pod of
// -detail may come later.
func (o options) known(w *world, timeline []event) error {
	names := map[string]bool{}
	for _, p := range w.objects.Pods {
		names[key(p)] = true
	}
	missing := func(flag, name string) error {
		if names[name] {
			return nil
		}
		kind, group, _ := strings.Cut(name, "/")
		if w.groupNamed(kind, group, "") != nil {
			return fmt.Errorf("%s: Not found: %q: no pod of that group in namespace %s%s", flag, name, cmp.Or(o.Tables.Namespace, "default"), w.unlessGates(kind))
		}
		if in := w.elsewhere(name); in != "" {
			return fmt.Errorf("%s: Not found: %q: no pod of that owner in the namespace%s", flag, name, in)
		}
		return fmt.Errorf("%s: Not found: %q: no pod of that namespace and name%s", flag, name, program.Near(name, sortedKeys(names)))
	}
	switch {
	case o.explain != "":
		return missing("-explain", o.explain)
	case o.howMany != "":
		return missing("-how-many", o.howMany)
	}
	if timeline != nil {
		return nil
	}
	for _, name := range o.detail.pods {
		if err := missing("-detail", name); err != nil {
			return err
		}
	}
	return nil
}
