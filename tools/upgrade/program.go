// Package upgrade (experimental) is program upgrade: it tells what changes for a cluster when Kubernetes goes from one minor version to
// another. podberth and kubectl podberth call [Run].
package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/scheduler/groups"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/internal/must"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

type options struct {
	program.Common
	program.Bounds
	from, to    version
	config      string
	gates       groups.FeatureGates // of groups of pods, as the user says
	failChanged bool
}

// version is a flag with a release.
type version struct{ release.Version }

func (v *version) Set(text string) (err error) {
	if text == "" {
		return errors.New("must be a release such as 1.36")
	}
	if v.Version, err = release.Parse(text); err != nil {
		err = withAnnounced(err, text)
	}
	return err
}

// withAnnounced adds what is announced for a release to the error that it is not known.
func withAnnounced(err error, text string) error {
	list := release.Announced(text)
	if len(list) == 0 {
		return err
	}
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = fmt.Sprintf("%s (gate %s)", a.Name, a.Gate)
	}
	return fmt.Errorf("%w; announced, not proven: %s", err, strings.Join(names, ", "))
}

// Run is the program. args are the flags without the program's name. Run returns the exit code: 0, 1 with -fail-changed when
// something changes, 2 for bad usage or input.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return program.Main("upgrade", parseFlags, answer)(ctx, args, stdin, stdout, stderr)
}

// answer prints the report. no is true when -fail-changed is set and something changes.
func answer(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) (no bool, err error) {
	defer must.Catch(&err)
	m := must.Get(dump.Read(o.Files, stdin, o.Input))
	a := ask(ctx, o, m, stdin, stderr)
	out := must.Get(report.Render(o.Output, a, func(b *strings.Builder) {
		a.table(b, o)
		b.WriteString(a.end(o))
	}))
	return o.failChanged && a.changed(), report.Print(out, m.Warnings, stdout, stderr)
}

// Over returns the JSON answer about a cluster that was read already. args are the flags; -f is required, and nothing is read from there.
func Over(ctx context.Context, objects *dump.Objects, args []string, stderr io.Writer) (_ []byte, err error) {
	defer must.Catch(&err)
	o := must.Get(parseFlags(args, io.Discard))
	return json.Marshal(ask(ctx, o, objects, nil, stderr))
}

// ask fills in the report. It panics with an error of package must.
func ask(ctx context.Context, o options, m *dump.Objects, stdin io.Reader, stderr io.Writer) *upgradeReport {
	a := &upgradeReport{Head: report.HeadOf("UpgradeReport"), From: o.from.String(), To: o.to.String()}
	a.Fields = must.Get(fieldChanges(o, stdin))
	a.Plugins = pluginChanges(o.from.Version, o.to.Version)
	a.Differences = differences(o)
	a.decisions(ctx, m, o, stderr)
	a.sum()
	return a
}

// Flags returns the program's flags.
func Flags() *flag.FlagSet { return new(options).flags(io.Discard).FlagSet }

func (o *options) flags(stdout io.Writer) *program.Set {
	f := program.Flags(program.Help{
		Name: "upgrade", Purpose: "tells what changes for a cluster when Kubernetes goes from one minor version to another.",
		Usage: []string{"upgrade -f PATH -from VERSION -to VERSION [flags]"},
		Examples: []string{
			"# what changes for the pods of a cluster",
			"kubectl get nodes,pods,namespaces,pv,pvc,storageclasses,csidrivers,csinodes,pdb,priorityclasses -A -o yaml > cluster.yaml",
			"upgrade -f cluster.yaml -from 1.35 -to 1.36",
			"# with the configuration of kube-scheduler, exit 1 when something changes",
			"upgrade -f cluster.yaml -from 1.36 -to 1.37 -config scheduler.yaml -fail-changed",
		},
	}, stdout)
	o.InputFlags(f, "the objects of the cluster")
	f.Var(&o.from, "from", "the `VERSION` before: "+program.Releases())
	f.Var(&o.to, "to", "the `VERSION` after")
	f.Lookup("from").DefValue, f.Lookup("to").DefValue = "", "" // both are required
	f.StringVar(&o.config, "config", "", "a KubeSchedulerConfiguration whose fields are checked: `FILE`; decisions are those of the default profile")
	f.Var(&o.gates, "feature-gates", dump.FeatureGatesUsage)
	f.BoolVar(&o.failChanged, "fail-changed", false, "exit 1 when a pod's verdict, message or node changes, a running pod would not be admitted, or a field is refused")
	o.Bounds = program.Bounds{Steps: 100_000, Time: 10 * time.Minute}
	o.BoundFlags(f, "ask about at most `N` pods", "ask about no more pods after this `DURATION`")
	o.OutputFlags(f, "pods", "")
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
	case o.from.Version == release.Current || o.to.Version == release.Current:
		return o, errors.New("-from and -to: both versions are required")
	}
	return o, o.CheckBounds()
}
