// Package lint (experimental) is program lint: it finds scheduling rules of manifests that can never be met, contradict each other, or do
// nothing. podberth and kubectl podberth call [Run].
package lint

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"io"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/diagnose/lint"
	"github.com/podberth/podberth/scheduler/groups"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// options are the command line.
type options struct {
	program.Common
	cluster []string
	known   string // path of the baseline, "" for none
	rules   bool

	descheduler bool
	gates       groups.FeatureGates
}

// lintReport is the answer, in the form in which it is printed.
type lintReport struct {
	report.Head
	Summary  summary        `json:"summary"`  // how many findings there are
	Findings []lint.Finding `json:"findings"` // by manifest, then in the order of the rules
}

type summary struct {
	Errors   int  `json:"errors"`          // findings of severity "error": a replica can get no node
	Warnings int  `json:"warnings"`        // findings of severity "warning"
	Infos    int  `json:"infos"`           // findings of severity "info"
	Known    *int `json:"known,omitempty"` // with --baseline: findings that it has, which are left out
	Gone     *int `json:"gone,omitempty"`  // with --baseline: findings that it has and that are there no more
}

const kind = "LintReport"

// Run runs the program with these arguments and streams. It returns the exit code. Results go to stdout in one piece, or not at all.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return program.Main("lint", parseFlags, answer)(ctx, args, stdin, stdout, stderr)
}

// answer writes the findings and reports whether one has severity error.
func answer(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) (no bool, err error) {
	if o.rules {
		_, err := io.WriteString(stdout, rules(o))
		return false, err
	}
	baseline, err := readBaseline(o.known, o.Input)
	if err != nil {
		return false, err
	}
	in, warnings, err := load(o, stdin)
	err = cmp.Or(err, program.Interrupted(ctx))
	if err != nil {
		return false, err
	}
	in.Stop = func() bool { return ctx.Err() != nil }
	found, err := lint.Check(in)
	err = cmp.Or(program.Interrupted(ctx), err)
	if err != nil {
		return false, err
	}
	found = slices.DeleteFunc(found, func(f lint.Finding) bool {
		_, name, _ := strings.Cut(f.Object, " ")
		namespace, _, namespaced := strings.Cut(name, "/")
		return namespaced && !o.Tables.Shows(namespace)
	})
	a := answerOf(found, baseline)
	var out []byte
	if o.Output == "sarif" {
		out, err = sarifText(a.Findings, o)
	} else {
		out, err = report.Render(o.Output, a, func(b *strings.Builder) { a.table(b) })
	}
	if err != nil {
		return false, err
	}
	return a.Summary.Errors > 0, report.Print(out, warnings, stdout, stderr)
}

// answerOf counts the findings that the baseline does not have.
func answerOf(found []lint.Finding, baseline known) *lintReport {
	a := &lintReport{Head: report.HeadOf(kind)}
	if baseline != nil {
		var known, gone int
		found, known, gone = baseline.part(found)
		a.Summary.Known, a.Summary.Gone = &known, &gone
	}
	a.Findings = append([]lint.Finding{}, found...)
	for _, f := range found {
		switch f.Severity {
		case lint.Error:
			a.Summary.Errors++
		case lint.Warning:
			a.Summary.Warnings++
		default:
			a.Summary.Infos++
		}
	}
	return a
}

// load reads the manifests and the cluster. Without -cluster the nodes and pods of the manifests are the cluster.
func load(o options, stdin io.Reader) (in lint.Input, warnings report.Warnings, err error) {
	m, err := dump.Read(o.Files, stdin, o.Input)
	if err != nil {
		return in, warnings, err
	}
	refused := m.RefusedGroups()
	maps.Copy(refused, m.TakeRefusedBudgets())
	list, composites := m.GroupManifests()
	priorities, err := m.GroupPriorities(o.gates)
	if err != nil {
		return in, warnings, err
	}
	in = lint.Input{
		Deployments: m.Deployments, StatefulSets: m.StatefulSets, DaemonSets: m.DaemonSets, CronJobs: m.CronJobs,
		ReplicationControllers: m.ReplicationControllers, Autoscalers: m.Autoscalers, Budgets: m.PodDisruptionBudgets, PriorityClasses: m.PriorityClasses,
		RuntimeClasses: m.RuntimeClasses, LimitRanges: m.LimitRanges, Quotas: m.ResourceQuotas, StorageClasses: m.StorageClasses,
		Claims: m.PersistentVolumeClaims, Groups: list, Composites: composites, Refused: refused, GroupPriorities: priorities, Compiler: cel.NewCompiler(), Plugins: m.PluginArgs(o.gates), Descheduler: o.descheduler,
	}
	for _, j := range m.Jobs {
		if len(j.OwnerReferences) == 0 {
			in.Jobs = append(in.Jobs, j)
		}
	}
	for _, r := range m.ReplicaSets {
		if len(r.OwnerReferences) == 0 {
			in.ReplicaSets = append(in.ReplicaSets, r)
		}
	}
	for _, p := range m.Pods {
		if len(p.OwnerReferences) == 0 && !cluster.Finished(p) && (p.Spec.NodeName == "" || len(m.Nodes) == 0) {
			in.Pods = append(in.Pods, p)
		}
	}
	for _, note := range o.gates.Notes() {
		m.Warnings.Aside("", note)
	}
	warnings = m.Warnings
	objects := m
	if len(o.cluster) > 0 {
		if objects, err = dump.Read(o.cluster, stdin, o.Input); err != nil {
			return in, warnings, err
		}
		warnings.Append(objects.Warnings)
		in.Plugins.Devices.GroupClaims = in.Plugins.Devices.GroupClaims || objects.PluginArgs(o.gates).Devices.GroupClaims
		in.Live = slices.Collect(objects.Others())
		in.RuntimeClasses, in.LimitRanges, in.Quotas = append(in.RuntimeClasses, objects.RuntimeClasses...), append(in.LimitRanges, objects.LimitRanges...), append(in.Quotas, objects.ResourceQuotas...)
	}
	if len(objects.Nodes) > 0 {
		c := objects.Cluster()
		if len(o.cluster) > 0 {
			c.ResourceClaimTemplates, c.ResourceClaims = beside(c.ResourceClaimTemplates, m.ResourceClaimTemplates), beside(c.ResourceClaims, m.ResourceClaims)
			c.DeviceClasses, c.PersistentVolumes = beside(c.DeviceClasses, m.DeviceClasses), beside(c.PersistentVolumes, m.PersistentVolumes)
		}
		in.Cluster = &c
	}
	return in, warnings, nil
}

// beside returns the objects of the cluster and those of the manifests whose names the cluster lacks.
func beside[T metav1.Object](cluster, manifests []T) []T {
	out := slices.Clip(cluster)
	for _, o := range manifests {
		if !slices.ContainsFunc(cluster, func(x T) bool { return x.GetNamespace() == o.GetNamespace() && x.GetName() == o.GetName() }) {
			out = append(out, o)
		}
	}
	return out
}

func (a *lintReport) table(b *strings.Builder) {
	for _, f := range a.Findings {
		report.Textf(b, "%s: %s: %s: %s\n  %s\n  fix: %s\n", f.Severity, f.Object, f.Rule, f.Path, f.Explanation, f.Fix)
	}
	report.Textf(b, "%s, %s, %s", report.Count(a.Summary.Errors, "error"), report.Count(a.Summary.Warnings, "warning"), report.Count(a.Summary.Infos, "note"))
	if a.Summary.Known != nil {
		report.Textf(b, "; %d known, %d of the baseline gone", *a.Summary.Known, *a.Summary.Gone)
	}
	b.WriteByte('\n')
}

// rules is the table of -rules.
func rules(o options) string {
	var rows [][]string
	for _, r := range lint.Rules() {
		needs := ""
		if r.Cluster {
			needs = "nodes"
		}
		rows = append(rows, []string{r.ID, string(r.Severity), needs, r.Summary})
	}
	text, _ := o.Tables.Layout.Columns([]string{"RULE", "SEVERITY", "NEEDS", "WHAT IS WRONG"}, rows)
	return text
}

// Flags returns the flags of the program, for programs that show or forward them. Setting these flags has no effect.
func Flags() *flag.FlagSet { return new(options).flags(io.Discard).FlagSet }

func (o *options) flags(stdout io.Writer) *program.Set {
	f := program.Flags(program.Help{
		Name: "lint", Purpose: "finds scheduling rules of manifests that can never be met, contradict each other, or do nothing.",
		Usage: []string{"lint -f PATH [-cluster PATH] [flags]", "lint -rules"},
		Examples: []string{
			"# manifests alone; exit 1 when a finding has severity error",
			"lint -f manifests/",
			"# manifests on a cluster",
			"kubectl get nodes,pods,namespaces,pvc,priorityclasses -A -o yaml > cluster.yaml",
			"lint -f manifests/ -cluster cluster.yaml",
			"# for code scanning in CI",
			"lint -f manifests/ -o sarif > lint.sarif",
			"# only what is new since an earlier answer",
			"lint -f manifests/ -o json > known.json",
			"lint -f manifests/ -baseline known.json",
		},
	}, stdout)
	o.InputFlags(f, "manifests; a dump of a cluster is manifests and cluster in one")
	f.Func("cluster", "a dump of the cluster: `PATH` as for -f (repeatable)", func(text string) error {
		if text == "" {
			return errors.New("must be a path")
		}
		o.cluster = append(o.cluster, text)
		return nil
	})
	f.StringVar(&o.known, "baseline", "", "an earlier answer, as `FILE` of JSON or YAML, whose findings are left out")
	f.Var(&o.gates, "feature-gates", "turn feature gates on or off, as kube-scheduler's flag: `GATE=true|false,...`; groups of pods are checked in any case")
	f.BoolVar(&o.Input.Strict, "strict", false, "fields that the API does not have are errors")
	f.BoolVar(&o.descheduler, "descheduler", false, "a descheduler runs: say also where it would evict without end")
	f.BoolVar(&o.rules, "rules", false, "print the rules")
	o.OutputFlags(f, "findings", "", "sarif")
	return f
}

func parseFlags(args []string, stdout io.Writer) (o options, err error) {
	f := o.flags(stdout)
	if err := program.Parse(f, args); err != nil {
		return o, err
	}
	if o.rules && f.NArg() == 0 {
		return o, nil
	}
	if err := o.Check(f, "sarif"); err != nil {
		return o, err
	}
	if o.known == "-" {
		return o, errBaseline
	}
	return o, nil
}
