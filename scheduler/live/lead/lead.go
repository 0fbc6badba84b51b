// Package lead (experimental) runs work while a Lease of the API server is held, and keeps an old leader from working beside a new one.
//
//	l := &lead.Lease{Namespace: "kube-system", Name: "podberth-scheduler", Identity: id}
//	err := l.Run(ctx, config, work)
//
// The elector is client-go's. What a Lease adds:
//
//   - Work is stopped when the renew deadline is over, counted from the start of the last renewal that succeeded: before the elector
//     gives up.
//   - Work is stopped when a read of the lease shows another holder.
//   - The lease is released only after work has returned nil, and not if it was lost. Otherwise a request may be under way at the API
//     server, and the lease runs out by itself.
//   - OnRenewed says until when no other may take the lease, so that requests can end by then.
//
// In the first two cases work's context ends with the cause [ErrLost], and OnLost is called, also while work is finishing after a stop.
// Work must then write nothing more.
package lead

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

// ErrLost is the cause and the error when the lease was lost.
var ErrLost = errors.New("the lease was lost")

// Lease is a lease and how it is held. Namespace, Name and Identity are required.
type Lease struct {
	Namespace, Name, Identity string
	// Duration, RenewDeadline and RetryPeriod are those of client-go's elector; 0 is 15 s, 10 s and 2 s.
	Duration, RenewDeadline, RetryPeriod time.Duration
	// Component is the source of the events about the lease.
	Component string
	// OnLost is called once when the lease is lost before work has returned; nil calls nothing.
	OnLost func()
	// OnRenewed is called after each renewal with the time until which no other may take the lease; nil calls nothing.
	OnRenewed func(until time.Time)
	// WatchDog gets the elector, for a health check. nil: there is none.
	WatchDog *leaderelection.HealthzAdaptor
}

// Validate reports what is wrong with the durations, in the words of client-go.
func (l *Lease) Validate() error {
	d := l.defaulted()
	_, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{LockConfig: resourcelock.ResourceLockConfig{Identity: d.Identity}}, LeaseDuration: d.Duration, RenewDeadline: d.RenewDeadline, RetryPeriod: d.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	return nil
}

func (l *Lease) defaulted() Lease {
	d := *l
	if d.Duration == 0 {
		d.Duration = 15 * time.Second
	}
	if d.RenewDeadline == 0 {
		d.RenewDeadline = 10 * time.Second
	}
	if d.RetryPeriod == 0 {
		d.RetryPeriod = 2 * time.Second
	}
	return d
}

// Run waits for the lease and then runs work. When ctx ends, work's context ends, and the lease is released after work has
// returned nil. Run returns work's error, and [ErrLost] with it if the lease was lost; nil if it never led.
func (l *Lease) Run(ctx context.Context, config *rest.Config, work func(context.Context) error) error {
	d := l.defaulted()
	events := record.NewBroadcaster(record.WithContext(ctx))
	defer events.Shutdown()
	reach := rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	reach.Timeout = max(d.RenewDeadline/2, time.Second) // a request that hangs leaves time for another
	api, err := kubernetes.NewForConfig(reach)
	if err != nil {
		return err
	}
	events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: api.CoreV1().Events("")})
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name},
		Client:     api.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: d.Identity, EventRecorder: events.NewRecorder(scheme.Scheme, v1.EventSource{Component: d.Component})},
	}
	return run(ctx, d, lock, work)
}

func run(ctx context.Context, d Lease, lock resourcelock.Interface, work func(context.Context) error) error {
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	election, end := context.WithCancel(context.WithoutCancel(ctx))
	g := &gate{Interface: lock, lease: d, over: make(chan struct{})}
	g.lost = sync.OnceFunc(func() {
		g.unclear.Store(true)
		stop(ErrLost)
		if d.OnLost != nil {
			d.OnLost()
		}
	})
	var result error
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: g, LeaseDuration: d.Duration, RenewDeadline: d.RenewDeadline, RetryPeriod: d.RetryPeriod, ReleaseOnCancel: true, Name: d.Name, WatchDog: d.WatchDog,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				if result = work(working); result != nil {
					g.unclear.Store(true)
				}
				close(g.over)
				end()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	if d.WatchDog != nil {
		d.WatchDog.SetLeaderElection(elector)
	}
	context.AfterFunc(ctx, func() {
		if !g.holds() {
			end()
		}
	})
	elector.Run(election)
	if !g.holds() {
		return nil
	}
	<-g.over
	if errors.Is(context.Cause(working), ErrLost) && !errors.Is(result, ErrLost) {
		return errors.Join(ErrLost, result)
	}
	return result
}

// gate is the lock as the elector sees it. It knows since when the lease is held.
type gate struct {
	resourcelock.Interface
	lease   Lease
	lost    func()
	over    chan struct{} // is closed when work has returned
	unclear atomic.Bool   // a request may be under way after work has returned

	mu    sync.Mutex
	timer *time.Timer // runs until the renew deadline; nil until the lease is held
}

func (g *gate) holds() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.timer != nil
}

// renewed notes a renewal whose request began at a time.
func (g *gate) renewed(began time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lease.OnRenewed != nil {
		g.lease.OnRenewed(began.Add(g.lease.Duration))
	}
	left := time.Until(began.Add(g.lease.RenewDeadline))
	if g.timer == nil {
		g.timer = time.AfterFunc(left, g.expire)
	} else {
		g.timer.Reset(left) // if the deadline was over before, work has been told, and lost does nothing any more
	}
}

// expire says that the lease is lost, unless work has returned.
func (g *gate) expire() {
	select {
	case <-g.over:
	default:
		g.lost()
	}
}

// Create makes the lease.
func (g *gate) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	began := time.Now()
	err := g.Interface.Create(ctx, r)
	if err == nil {
		g.renewed(began)
	}
	return err
}

// errUnclear is why a lease is not released.
var errUnclear = errors.New("a request may be under way: the lease runs out by itself")

// Update renews the lease, takes it or releases it. Work ends before the lease is released.
func (g *gate) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if r.HolderIdentity == "" {
		select {
		case <-g.over:
		case <-ctx.Done():
			return ctx.Err()
		}
		if g.unclear.Load() {
			return errUnclear
		}
	}
	began := time.Now()
	err := g.Interface.Update(ctx, r)
	if err == nil && r.HolderIdentity != "" {
		g.renewed(began)
	}
	return err
}

// Get reads the lease. A leader that reads another holder has lost the lease.
func (g *gate) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	r, raw, err := g.Interface.Get(ctx)
	if err == nil && r.HolderIdentity != g.Identity() && g.holds() {
		g.lost()
	}
	return r, raw, err
}
