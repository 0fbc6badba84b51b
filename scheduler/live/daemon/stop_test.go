package daemon

import (
	"context"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/live/internal/apitest"
	"github.com/podberth/podberth/scheduler/live/lead"
	"github.com/podberth/podberth/scheduler/live/shadow"
)

func count(text, part string) int { return strings.Count(text, part) }

// A binding without an answer is cut when the time to finish is over. The lease then stays until it runs out.
func TestCutBinding(t *testing.T) {
	type test struct {
		name           string
		finish, flush  time.Duration
		takes          time.Duration
		hangingResults bool // OnResult does not return
	}
	testkit.Run(t, []test{
		{"the default", 0, 0, 12 * time.Second, false},
		{"given", 3 * time.Second, time.Second, 4 * time.Second, false},
		{"a callback hangs too", 3 * time.Second, time.Second, 5 * time.Second, true},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			logged.take()
			asked := make(chan bool, 100)
			api := &apitest.API{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
				if !asks(r, http.MethodPost, "/binding") {
					return false
				}
				asked <- true
				return hang(r)
			}}
			api.Put(t, node("n", "1"), pod("p"))
			c := configure(t, api)
			c.Lease, c.FinishTimeout, c.FlushTimeout = lease(), x.finish, x.flush
			c.Lease.Duration, c.Lease.RenewDeadline = time.Hour, time.Hour-time.Second
			called, open := make(chan bool, 1), make(chan bool)
			if x.hangingResults {
				c.OnResult = func(scheduler.Result) {
					called <- true
					<-open
				}
			}
			d := start(t, c)
			<-asked
			if x.hangingResults {
				api.Put(t, pod("rejected"))
				<-called
			}
			began := time.Now()
			d.stop()
			err := <-d.ended
			if x.hangingResults {
				require.ErrorContains(t, err, "OnResult")
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, x.takes, time.Since(began))
			require.Equal(t, 1, count(logged.take(), `msg="Stopping while bindings are under way; their pods stay with the API server" bindings=1`))
			require.Equal(t, "me", holder(api))
			close(open)
		})
	})
}

// A callback that hangs is an error of the stop, beside the loss of the lease.
func TestHangingCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &apitest.API{}
		api.Put(t, pod("p"))
		c := configure(t, api)
		called, open := make(chan bool, 1), make(chan bool)
		c.Lease = lease()
		c.OnResult = func(scheduler.Result) {
			called <- true
			<-open
		}
		d := start(t, c)
		<-called
		give(t, api, "other")
		err := <-d.ended
		require.ErrorIs(t, err, ErrLeaseLost)
		require.Regexp(t, `^the lease was lost\n.*OnResult`, err.Error())
		close(open)
	})
}

// A daemon whose informers cannot read waits, says why, and a stop ends that.
func TestStopBeforeFirstList(t *testing.T) {
	type test struct {
		name    string
		lease   *lead.Lease
		setting string
		holder  string
	}
	testkit.Run(t, []test{
		{"without a lease", nil, "", "no lease"},
		{"with a lease", lease(), "", "no lease"},
		{"with a lease before the informers", lease(), "delayCacheUntilActive: true", ""},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			logged.take()
			api := &apitest.API{Answer: refusesNodes}
			c := configure(t, api, x.setting)
			c.Lease = x.lease
			d := start(t, c)
			synctest.Wait()
			require.ErrorContains(t, d.Ready(), "waiting for the first list of nodes (")
			require.Regexp(t, `level=ERROR msg="Watching failed" err=.* resource=nodes\n`, logged.take())
			d.stop()
			require.NoError(t, <-d.ended)
			require.False(t, d.Leading())
			require.Equal(t, x.holder, holder(api))
		})
	})
}

// slowToEnd is a way to a server whose watches take a second to end.
type slowToEnd struct{ http.RoundTripper }

func (s slowToEnd) RoundTrip(r *http.Request) (*http.Response, error) {
	if !watches(r) {
		return s.RoundTripper.RoundTrip(r)
	}
	<-r.Context().Done()
	time.Sleep(time.Second) // of the bubble
	return nil, r.Context().Err()
}

// startBoth starts a shadow and a daemon. Each of the functions stops one and returns how it ended.
func startBoth(t *testing.T, c Config) (stops []func() error) {
	t.Helper()
	s, err := NewShadow(t.Context(), c, func(shadow.Report) {})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	d := start(t, c)
	synctest.Wait()
	return []func() error{
		func() error { stop(); return <-ended },
		func() error { d.stop(); return <-d.ended },
	}
}

// A daemon and a shadow have stopped when their informers have ended.
func TestStopWaitsForInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := configure(t, &apitest.API{})
		c.REST.Transport = slowToEnd{c.REST.Transport}
		stops := startBoth(t, c)
		for _, stop := range stops {
			began := time.Now()
			require.NoError(t, stop())
			require.GreaterOrEqual(t, time.Since(began), time.Second)
		}
	})
}

// cutOff is a way to a server that is gone when away is closed: watches end, and requests are refused.
type cutOff struct {
	http.RoundTripper
	away chan struct{}
}

func (c cutOff) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-c.away:
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	default:
	}
	ctx, cut := context.WithCancel(r.Context())
	go func() {
		select {
		case <-c.away:
		case <-r.Context().Done():
		}
		cut()
	}()
	return c.RoundTripper.RoundTrip(r.WithContext(ctx))
}

// A stop does not wait for informers that wait to ask an API server which has been away for long.
func TestStopWhileAway(t *testing.T) { // B3.20
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(5 * time.Minute) // of the bubble: the informers end
		c := configure(t, &apitest.API{})
		away := make(chan struct{})
		c.REST.Transport = cutOff{c.REST.Transport, away}
		stops := startBoth(t, c)
		close(away)
		time.Sleep(5 * time.Minute) // of the bubble
		for _, stop := range stops {
			began := time.Now()
			require.NoError(t, stop())
			require.LessOrEqual(t, time.Since(began), 2*time.Second)
		}
	})
}

// A recorder that cannot start is an error.
func TestRecorderDoesNotStart(t *testing.T) {
	d, err := New(t.Context(), configure(t, &apitest.API{}))
	require.NoError(t, err)
	d.recorder.Flush(t.Context())
	require.Error(t, d.Run(t.Context()))
	require.False(t, d.Leading())
}

// A stop ends a start that asks an API server which does not answer.
func TestStopWhileUnanswered(t *testing.T) { // B3.16
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan bool, 100)
		c := configure(t, &apitest.API{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
			asked <- true
			return hang(r)
		}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := New(ctx, c)
			ended <- err
		}()
		<-asked
		began := time.Now()
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.Zero(t, time.Since(began))
	})
}
