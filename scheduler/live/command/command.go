// Package command (experimental) is the command line of scheduler/live: flags, the HTTPS server, signals and exit codes.
//
//	os.Exit(command.Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
//
// Exit code 0: stopped by a signal. 1: the scheduler cannot run, or lost its lease. 2: bad flags or a bad configuration. Each
// failure is one line on standard error, "error: …"; a list of missing permissions is one line for each.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"
	"k8s.io/klog/v2"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/live/daemon"
)

// usage is an error of the caller: exit code 2.
type usage struct{ error }

// stopSignals stop the command.
var stopSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT}

// Run runs the command and returns the exit code. It stops when the context ends, and at SIGTERM or SIGINT.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, stopSignals...)
	defer stop()
	o := newOptions()
	c := &cobra.Command{
		Use:   "podberth-scheduler",
		Short: "A Kubernetes scheduler that decides as kube-scheduler v1.37 does",
		Long: "podberth-scheduler watches an API server and binds the pods of its profiles. It decides as kube-scheduler v1.37 does.\n" +
			"It reads the same configuration, and has kube-scheduler's flags where it has what they are about.",
		Version: version(debug.ReadBuildInfo()), SilenceUsage: true, SilenceErrors: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage{fmt.Errorf("%q does not take any arguments, got %q", c.Name(), args)}
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			running, end := context.WithCancel(context.WithoutCancel(ctx))
			defer end()
			defer context.AfterFunc(ctx, func() { // from the beginning of the stop on a second signal ends the process at once
				stop()
				end()
			})()
			return o.run(running, stdout)
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage{err} })
	o.addFlags(c.Flags())
	c.SetArgs(append([]string{}, args...)) // instead of nil cobra would take the arguments of the process
	c.SetOut(stdout)
	c.SetErr(stderr)
	err := c.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	for _, line := range lines(err) {
		fmt.Fprintln(stderr, "error:", printable(line))
	}
	if errors.As(err, new(usage)) {
		return 2
	}
	return 1
}

// printable returns a text with characters that do not print written as in a Go string: it may be what a server or a file says.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// lines returns the texts of joined errors.
func lines(err error) (out []string) {
	var u usage
	if errors.As(err, &u) {
		err = u.error
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			out = append(out, lines(e)...)
		}
		return out
	}
	return []string{err.Error()}
}

// version returns the module's version, as far as the build knows it, and the version of Kubernetes that it follows.
func version(info *debug.BuildInfo, ok bool) string {
	own := "(devel)"
	if ok && info.Main.Version != "" {
		own = info.Main.Version
	}
	return own + ", decides as Kubernetes " + release.Current.Patch()
}

// klog has one configuration in a process. A second command may ask for the same.
func init() { logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged }

// prepared is what the flags and the configuration ask for.
type prepared struct {
	configuration *config.Configuration
	daemon        daemon.Config
}

func (o *options) prepare() (p prepared, err error) {
	if err := o.validate(); err != nil {
		return p, usage{err}
	}
	if p.configuration, err = o.load(); err != nil {
		return p, usage{err}
	}
	reach, err := o.rest(p.configuration.Document)
	if err != nil {
		return p, usage{err}
	}
	lease, err := o.leaseOf(p.configuration)
	if err != nil {
		return p, usage{err}
	}
	if o.shadow.on {
		lease = nil // a shadow writes nothing
	}
	gates, err := o.gates.Gates()
	if err != nil {
		return p, usage{err}
	}
	leftover := max(o.leftover, 1) // 0 is the daemon's default, and kube-scheduler's word for every pod that waits
	p.daemon = daemon.Config{Groups: gates, REST: reach, Configuration: p.configuration, Lease: lease, Permissions: o.permissions, Leftover: leftover, Causes: o.causes}
	return p, nil
}

func (o *options) run(ctx context.Context, stdout io.Writer) error {
	p, err := o.prepare()
	if err != nil {
		return err
	}
	if err := logsapi.ValidateAndApply(o.logs, nil); err != nil {
		return usage{err}
	}
	klog.InfoS("Starting", "version", version(debug.ReadBuildInfo()))
	for _, note := range o.gates.Notes() {
		klog.InfoS("Feature gates", "warning", note)
	}
	return o.start(ctx, p, o.serverOf(p), stdout)
}

// serverOf returns the server that answers about the scheduler.
func (o *options) serverOf(p prepared) *server {
	s := &server{configuration: p.configuration, registry: prometheus.NewRegistry(), profiling: o.profiling}
	if p.daemon.Lease != nil {
		s.elector = p.daemon.Lease.WatchDog
	}
	return s
}

// start runs the scheduler and its server until the context ends.
func (o *options) start(ctx context.Context, p prepared, s *server, stdout io.Writer) error {
	reports, closeReports, err := o.reports(stdout)
	if err != nil {
		return err
	}
	stop, err := o.serve(s)
	if err != nil {
		return errors.Join(err, closeReports())
	}
	p.daemon.Registry = s.registry
	p.daemon.OnUnanswered = func(err error) { s.unanswered.Store(&err) }
	err = ended(ctx, o.schedule(ctx, p, s, reports))
	stop()
	return errors.Join(err, closeReports())
}

// ended returns the command's error when the scheduler has ended with an error: none after a stop, unless the lease was lost.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, daemon.ErrLeaseLost) {
		klog.InfoS("Requested to terminate, exiting", "err", err)
		return nil
	}
	return err
}

// schedule runs the scheduler, or its shadow, which writes reports.
func (o *options) schedule(ctx context.Context, p prepared, s *server, reports io.Writer) error {
	if o.shadow.on {
		return judge(ctx, p, s, reports)
	}
	d, err := daemon.New(ctx, p.daemon)
	if err != nil {
		return err
	}
	s.watch(d)
	return d.Run(ctx)
}
