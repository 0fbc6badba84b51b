// Package daemon (experimental) runs the scheduler of scheduler against a real API server.
//
//	d, err := daemon.New(ctx, daemon.Config{REST: rest, Configuration: configuration})
//	err = d.Run(ctx)               // until the context ends
//
// The order of a start: the API server is asked what it serves and what the account may do; informers; the lease, if there is
// one; the daemon waits until it knows every pod that the last leader has bound; then it decides. With delayCacheUntilActive the informers
// start when the lease is held. The order of a stop: no pod is popped any more; binding cycles end, or are cut after 10 s; status patches
// and events are written; the lease is released, unless a binding was cut; the informers end.
//
// Every write ends before another replica may take the lease, and the API server is told so: see [write.Client.Until].
//
// Package [feed] reads, package [write] writes, package [lead] holds the lease.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/live/feed"
	"github.com/podberth/podberth/scheduler/live/lead"
	"github.com/podberth/podberth/scheduler/live/write"
	"github.com/podberth/podberth/scheduler/setup"
)

// Config configures a daemon. REST and Configuration are required.
type Config struct {
	// REST reaches the API server. The daemon makes three clients of it, each with the QPS and burst of REST: for reads and
	// writes, for events, and for the lease.
	REST *rest.Config
	// Configuration has the profiles and extenders.
	Configuration *config.Configuration
	// Lease is held while the daemon schedules; nil schedules without.
	Lease *lead.Lease
	// Registry gets the metrics; nil measures nothing.
	Registry prometheus.Registerer
	// Causes is the pause between two counts of the waiting pods by their cause: the metric podberth_pending_pods. 0, less,
	// or no Registry: nothing is counted.
	Causes time.Duration
	// Permissions checks at the start that the account may do all that the daemon does.
	Permissions bool
	// Write has time-outs and pauses; the zero value has the defaults.
	Write write.Options
	// Leftover is the longest time that a pod waits in the queue as unschedulable; 0 is 5 minutes.
	Leftover time.Duration
	// Groups makes groups of pods count, with these gates (scheduler.Options.Groups); nil: they do not. The API server must serve
	// scheduling.k8s.io/v1beta1, and v1alpha3 for the gate Composites.
	Groups *podgroup.Gates
	// Clock is the scheduler's; nil is the real time.
	Clock scheduler.Clock
	// Tie chooses among n nodes of equal total; nil chooses the first.
	Tie func(n int) int
	// OnResult is called when an attempt ends; nil calls nothing.
	OnResult func(scheduler.Result)
	// OnUnanswered is called when New asks the API server and gets no answer; New asks again. Calls may overlap. nil calls nothing.
	OnUnanswered func(error)
	// FinishTimeout bounds the wait for binding cycles at a stop, and FlushTimeout the wait for the last patches and events;
	// 0 is 10 s and 2 s.
	FinishTimeout, FlushTimeout time.Duration
}

// unseen is how long after the answer to a binding the pod is read, if no event has shown it bound.
const unseen = 30 * time.Second

// statusWriters is how many status patches are sent at the same time.
const statusWriters = 16

// Daemon is a scheduler of a real cluster. It runs once.
type Daemon struct {
	c         Config
	api       kubernetes.Interface
	events    kubernetes.Interface
	Feed      *feed.Feed
	Scheduler *scheduler.Scheduler
	client    *write.Client
	recorder  *write.Recorder
	tasks     tasks
	causes    *causes // nil: not asked for
	leading   atomic.Bool
	stopping  atomic.Bool

	work context.Context // of Run: ends after the last request
	end  context.CancelFunc
}

// New asks the API server what it serves, and makes the daemon. New waits for an API server that does not answer, until the
// context ends.
func New(ctx context.Context, c Config) (*Daemon, error) {
	if c.FinishTimeout == 0 {
		c.FinishTimeout = 10 * time.Second
	}
	if c.FlushTimeout == 0 {
		c.FlushTimeout = 2 * time.Second
	}
	d := &Daemon{c: c}
	var err error
	reads := rest.AddUserAgent(rest.CopyConfig(c.REST), "scheduler")
	reads.Wrap(write.Deadlines)
	if d.api, err = kubernetes.NewForConfig(reads); err != nil {
		return nil, err
	}
	if d.events, err = kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(c.REST), "scheduler")); err != nil {
		return nil, err
	}
	kinds := feed.GroupKinds(c.Groups)
	without, err := served(ctx, d.api, kinds, c.OnUnanswered)
	if err != nil {
		return nil, err
	}
	if c.Permissions {
		if err := checkPermissions(ctx, d.api, needs(without, kinds, c.Lease), c.OnUnanswered); err != nil {
			return nil, err
		}
	}
	d.work, d.end = context.WithCancel(context.WithoutCancel(ctx))
	if d.Feed, err = feed.New(d.api, feed.Options{Groups: c.Groups, Without: without, OnError: func(resource string, err error) {
		klog.ErrorS(err, "Watching failed", "resource", resource)
	}}); err != nil {
		return nil, err
	}
	return d, d.makeScheduler()
}

func (d *Daemon) makeScheduler() error {
	o, warnings, err := setup.Options(d.c.Configuration, setup.Extending{Binds: true, PassedOver: func(extender string, err error) {
		klog.InfoS("Extender passed over", "extender", extender, "err", err)
	}})
	if err != nil {
		return err
	}
	for _, w := range warnings {
		klog.InfoS("Configuration", "warning", w)
	}
	var names []string
	for _, p := range o.Profiles {
		names = append(names, p.SchedulerName)
	}
	d.recorder = write.NewRecorder(d.events, names...)
	settings := d.c.Write
	settings.OnError = func(err error) { klog.ErrorS(err, "Error updating pod") }
	settings.Waits = waits(d.c.Configuration)
	d.client = write.New(d.api, d.Feed, settings)
	if d.c.Registry != nil {
		if o.Metrics, err = scheduler.NewPrometheusMetrics(d.c.Registry); err != nil {
			return err
		}
		if err := d.c.Registry.Register(d.Feed); err != nil {
			return err
		}
	}
	o.Client, o.Recorder, o.Selectors, o.Go = d.client, d.recorder, cel.NewCompiler(), d.tasks.start
	o.Leftover, o.Tie, o.Clock = d.c.Leftover, d.c.Tie, d.c.Clock
	o.AssumeTTL, o.ReadPod, o.Groups = unseen, d.client.ReadPod, d.c.Groups
	o.OnError = func(err error) { klog.ErrorS(err, "Scheduling") }
	o.OnResult = d.result
	snapshot, err := cluster.New(cluster.Objects{})
	if err != nil {
		return err
	}
	if d.Scheduler, err = scheduler.New(snapshot, o); err != nil {
		return err
	}
	if d.causes, err = newCauses(d.c, d.Feed.Unbound, d.Scheduler.View, false); err != nil {
		return err
	}
	return d.Feed.Connect(d.Scheduler)
}

// waits returns how long pods of each profile wait for volumes and devices.
func waits(c *config.Configuration) map[string]write.Waits {
	out := map[string]write.Waits{}
	for _, p := range c.Profiles {
		w := write.DefaultWaits()
		if a, ok := p.Args["VolumeBinding"].(*configv1.VolumeBindingArgs); ok {
			w.Volumes = time.Duration(min(*a.BindTimeoutSeconds, math.MaxInt64/int64(time.Second))) * time.Second
		}
		if a, ok := p.Args["DynamicResources"].(*configv1.DynamicResourcesArgs); ok {
			w.Devices = a.BindingTimeout.Duration
		}
		out[p.SchedulerName] = w
	}
	return out
}

// result logs the end of an attempt in kube-scheduler's words.
func (d *Daemon) result(r scheduler.Result) {
	switch r.Outcome {
	case scheduler.Scheduled:
		if v := klog.V(2); v.Enabled() {
			v.InfoS("Successfully bound pod to node", "pod", klog.KObj(r.Pod), "node", r.Node, "evaluatedNodes", r.Evaluated, "feasibleNodes", r.Feasible)
		}
	case scheduler.Rejected:
		klog.V(2).InfoS("Unable to schedule pod; no fit; waiting", "pod", klog.KObj(r.Pod), "err", r.Message)
	default:
		klog.ErrorS(errors.New(r.Message), "Error scheduling pod; retrying", "pod", klog.KObj(r.Pod))
	}
	if d.c.OnResult != nil {
		d.c.OnResult(r)
	}
}

// ErrLeaseLost is Run's error when another took the lease, or when the lease could not be renewed in time.
var ErrLeaseLost = lead.ErrLost

// errCut keeps the lease from being released: the API server may still bind a pod. It was logged.
var errCut = errors.New("bindings were cut")

// Run schedules until the context ends. It returns nil after a stop in order.
func (d *Daemon) Run(ctx context.Context) error {
	err := d.run(ctx)
	if err == errCut {
		return nil
	}
	return err
}

func (d *Daemon) run(ctx context.Context) error {
	defer d.Feed.Stop()
	defer d.recorder.Flush(d.work) // after the end of work this only ends the recorder
	defer d.end()
	if err := d.recorder.Start(d.work); err != nil {
		return err
	}
	go d.client.Run(d.work, statusWriters)
	if d.c.Lease == nil {
		return d.watchAndSchedule(ctx)
	}
	lease := *d.c.Lease
	lease.OnRenewed = d.client.Until
	lease.OnLost = d.client.Close // nothing is written beside the next leader, not even what a stop would finish
	if d.c.Configuration.Document.DelayCacheUntilActive {
		return lease.Run(ctx, d.c.REST, d.watchAndSchedule)
	}
	if !d.watch(ctx) {
		return nil
	}
	return lease.Run(ctx, d.c.REST, func(ctx context.Context) error {
		if err := d.catchUp(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		return d.schedule(ctx)
	})
}

// watchAndSchedule is schedule after watch.
func (d *Daemon) watchAndSchedule(ctx context.Context) error {
	if !d.watch(ctx) {
		return nil
	}
	return d.schedule(ctx)
}

// watch starts the informers and waits for the first lists. It returns false when the context ends before.
func (d *Daemon) watch(ctx context.Context) bool {
	d.Feed.Start(d.work)
	return d.Feed.Wait(ctx) == nil // the end of the context is the only error
}

// schedule schedules until the context ends, and then finishes what is under way. When the lease is lost, it ends at once.
func (d *Daemon) schedule(ctx context.Context) error {
	d.leading.Store(true)
	defer context.AfterFunc(ctx, func() { d.stopping.Store(true) })()
	go d.causes.run(ctx)
	err := d.Scheduler.Run(ctx)
	d.stopping.Store(ctx.Err() != nil) // the function above may not have run yet
	if errors.Is(context.Cause(ctx), lead.ErrLost) {
		return errors.Join(lead.ErrLost, err)
	}
	finish, cancel := context.WithTimeout(d.work, d.c.FinishTimeout)
	defer cancel()
	if n := d.tasks.wait(finish); n > 0 {
		klog.InfoS("Stopping while bindings are under way; their pods stay with the API server", "bindings", n)
		err = cmp.Or(err, errCut)
	}
	flush, cancel := context.WithTimeout(d.work, d.c.FlushTimeout)
	defer cancel()
	d.client.Flush(flush)
	d.client.Close()
	d.recorder.Flush(flush)
	return err
}

// Ready returns nil when the daemon can schedule or take over, and otherwise what it waits for.
func (d *Daemon) Ready() error {
	if d.stopping.Load() {
		return errors.New("stopping")
	}
	return d.Feed.Waiting()
}

// Gauges brings the gauges of the metrics up to date.
func (d *Daemon) Gauges() { d.Scheduler.Gauges() }

// Leading reports whether the daemon has begun to schedule.
func (d *Daemon) Leading() bool { return d.leading.Load() }
