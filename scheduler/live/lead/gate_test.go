package lead

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/podberth/podberth/internal/testkit"
)

// way is the way of a replica to the server, on which writes can go wrong while reads get through.
type way struct {
	*lock
	mu sync.Mutex
	on func(write func() error) error // what becomes of a write; nil sends it
}

// write makes the writes that follow go wrong.
func (w *way) write(on func(write func() error) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on = on
}

func (w *way) send(write func() error) error {
	w.mu.Lock()
	on := w.on
	w.mu.Unlock()
	if on == nil {
		return write()
	}
	return on(write)
}

func (w *way) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return w.send(func() error { return w.lock.Create(ctx, r) })
}

func (w *way) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return w.send(func() error { return w.lock.Update(ctx, r) })
}

func refused(func() error) error { return errUnreachable }

func answerLost(write func() error) error {
	if err := write(); err != nil {
		return err
	}
	return errUnreachable
}

// The lease is lost when the renew deadline is over, to the nanosecond, counted from the start of the last renewal that succeeded.
// Nothing is told about renewals that failed, and OnLost is called once.
func TestDeadline(t *testing.T) {
	type test struct {
		name, why string
		broken    func(w *way)
		lost      time.Duration // of a leader since 0 s that renews every 2 s, and whose way breaks after 21 s
	}
	testkit.Run(t, []test{
		{"unreachable", "the last renewal began at 20 s", func(w *way) { w.cut() }, 30 * time.Second},
		{"refused writes", "a renewal that failed is none", func(w *way) { w.write(refused) }, 30 * time.Second},
		{"slow write", "the renewal at 22 s began then, and its answer comes at 28 s; the next is refused", func(w *way) {
			w.write(func(write func() error) error {
				w.write(refused)
				time.Sleep(6 * time.Second)
				return write()
			})
		}, 32 * time.Second},
	}, func(t *testing.T, c test) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var renewed []time.Duration
			s := &server{}
			d := (&Lease{Identity: "a", OnLost: func() { s.note("lost") }, OnRenewed: func(until time.Time) { renewed = append(renewed, until.Sub(began)) }}).defaulted()
			w := &way{lock: &lock{s: s, name: "a"}}
			ended := make(chan error)
			var cause error
			var lost time.Duration
			go func() {
				ended <- run(t.Context(), d, w, func(ctx context.Context) error {
					<-ctx.Done()
					cause, lost = context.Cause(ctx), time.Since(began)
					return nil
				})
			}()
			time.Sleep(21 * time.Second)
			c.broken(w)
			require.EqualError(t, <-ended, "the lease was lost")
			require.ErrorIs(t, cause, ErrLost)
			require.Equal(t, c.lost, lost, c.why)
			time.Sleep(time.Minute)
			require.Equal(t, []string{"lost"}, s.done())
			require.Equal(t, 15*time.Second, renewed[0], "the lease lasts 15 s from the start of a renewal")
			require.Equal(t, c.lost+5*time.Second, renewed[len(renewed)-1], "of the last renewal that succeeded")
		})
	})
}

// Run returns work's error as it is, waits for work that hears of the loss, and adds ErrLost once.
func TestErrors(t *testing.T) {
	failed := errors.New("failed")
	late := fmt.Errorf("a binding: %w", ErrLost)
	type test struct {
		name, why string
		lost      bool
		work      error
		want      string
	}
	testkit.Run(t, []test{
		{"failed", "the lease is held to the end", false, failed, "failed"},
		{"lost", "the loss is an error even when work has none", true, nil, "the lease was lost"},
		{"lost and failed", "both are there", true, failed, "the lease was lost\nfailed"},
		{"told", "work has said itself that the lease was lost", true, late, "a binding: the lease was lost"},
	}, func(t *testing.T, c test) {
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			var during context.Context
			ended := make(chan error)
			go func() {
				ended <- run(t.Context(), (&Lease{Identity: "a"}).defaulted(), &lock{s: s, name: "a"}, func(ctx context.Context) error {
					during = ctx
					if c.lost {
						<-ctx.Done()
						time.Sleep(time.Minute) // the elector has given up long before
					}
					return c.work
				})
			}()
			if c.lost {
				time.Sleep(time.Second)
				s.give("thief")
			}
			require.EqualError(t, <-ended, c.want, c.why)
			require.Error(t, during.Err(), "work's context ends with Run")
		})
	})
}

// Nobody hears of a loss after work has returned, even when the release cannot reach the server.
func TestNoLossAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		w := &lock{s: s, name: "a"}
		require.NoError(t, <-s.replica(t.Context(), w, func() { s.note("lost") }, func(context.Context) error {
			w.cut()
			return nil
		}))
		time.Sleep(time.Hour)
		require.Equal(t, []string{"a begins", "a ends"}, s.done())
	})
}

// A release is no renewal.
func TestReleaseDoesNotRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		d := (&Lease{Identity: "a", OnRenewed: func(time.Time) { s.note("renewed") }}).defaulted()
		require.NoError(t, run(t.Context(), d, &lock{s: s, name: "a"}, func(context.Context) error {
			time.Sleep(time.Second)
			return nil
		}))
		require.Equal(t, []string{"renewed", "renewed", "a releases"}, s.done(), "made, and renewed at once")
	})
}

// A replica that could not make or take the lease has not worked: it ends without an error, at once.
func TestNotTaken(t *testing.T) {
	type test struct {
		name, why string
		write     func(write func() error) error
	}
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "leases"}, "x")
	testkit.Run(t, []test{
		{"another was first", "a lease that another has made is not held", func(func() error) error { return exists }},
		{"lost answers", "a lease that the server gave to the replica without an answer runs out by itself", answerLost},
	}, func(t *testing.T, c test) {
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			w := &way{lock: &lock{s: s, name: "a"}, on: c.write}
			ctx, stop := context.WithTimeout(t.Context(), 7*time.Second) // time for two tries
			defer stop()
			d := (&Lease{Identity: "a", OnLost: func() { s.note("lost") }}).defaulted()
			began := time.Now()
			require.NoError(t, run(ctx, d, w, func(context.Context) error {
				s.note("begins")
				return nil
			}))
			require.Equal(t, 7*time.Second, time.Since(began))
			require.Empty(t, s.done(), c.why)
		})
	})
}

// A stop while the lease is being taken is no loss: work begins under a context that has ended, and the lease is released after it.
func TestStopWhileTaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		w := &way{lock: &lock{s: s, name: "a"}, on: func(write func() error) error {
			time.Sleep(2 * time.Second)
			return write()
		}}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		d := (&Lease{Identity: "a", OnLost: func() { s.note("lost") }}).defaulted()
		require.NoError(t, run(ctx, d, w, func(ctx context.Context) error {
			s.note("begins")
			<-ctx.Done()
			time.Sleep(5 * time.Second)
			s.note("ends")
			return nil
		}))
		require.Equal(t, []string{"begins", "ends", "a releases"}, s.done())
	})
}

// The watch dog barks when work goes on long after the lease is lost.
func TestWatchDog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dog := leaderelection.NewLeaderHealthzAdaptor(20 * time.Second)
		d := (&Lease{Name: "x", Identity: "a", WatchDog: dog}).defaulted()
		w, ended := &way{lock: &lock{s: &server{}, name: "a"}}, make(chan error)
		go func() {
			ended <- run(t.Context(), d, w, func(ctx context.Context) error {
				time.Sleep(10 * time.Minute)
				return nil
			})
		}()
		time.Sleep(5 * time.Minute)
		require.NoError(t, dog.Check(nil))
		w.write(refused)
		time.Sleep(30 * time.Second)
		require.NoError(t, dog.Check(nil))
		time.Sleep(10 * time.Second)
		require.EqualError(t, dog.Check(nil), "failed election to renew leadership on lease x")
		require.ErrorIs(t, <-ended, ErrLost)
	})
}

// The elector hears why a lease was not released.
func TestReleaseRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Interface: &lock{s: &server{}, name: "a"}, lease: (&Lease{}).defaulted(), lost: func() {}, over: make(chan struct{})}
		g.renewed(time.Now())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, g.Update(ctx, resourcelock.LeaderElectionRecord{}), context.DeadlineExceeded, "work goes on")
		close(g.over)
		g.unclear.Store(true)
		require.ErrorIs(t, g.Update(t.Context(), resourcelock.LeaderElectionRecord{}), errUnclear)
	})
}

// Durations that are impossible are an error, and nobody works.
func TestImpossible(t *testing.T) {
	d := (&Lease{Identity: "a", Duration: time.Second}).defaulted()
	require.EqualError(t, run(t.Context(), d, &lock{name: "a"}, nil), "leaseDuration must be greater than renewDeadline")
}
