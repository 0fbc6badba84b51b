package write_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/live/write"
)

// refusal is an API server that answers a code, and the times at which it was asked.
type refusal struct {
	code  int
	asked []time.Time
}

func (s *refusal) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, time.Now())
	return &http.Response{StatusCode: s.code, Status: http.StatusText(s.code), Body: http.NoBody, Request: r}, nil
}

// refusing returns a client of such a server. It runs until stop is called.
func refusing(ctx context.Context, code int) (c *write.Client, way *refusal, stop func()) {
	way = &refusal{code: code}
	c = write.New(kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://api", Transport: way, QPS: -1}), &view{pod()}, write.Options{})
	ctx, stop = context.WithCancel(ctx)
	go c.Run(ctx, 1)
	return c, way, stop
}

// A write that fails in a way that may pass is tried again after 10, 50 and 250 ms, each longer by a random part of up to a half.
func TestPausesBetweenTries(t *testing.T) { // B2.33
	synctest.Test(t, func(t *testing.T) {
		node, seen := "n1", map[time.Duration]bool{}
		c, way, stop := refusing(t.Context(), http.StatusInternalServerError)
		defer stop()
		for range 20 {
			way.asked = nil
			require.Error(t, c.PatchStatus(t.Context(), pod(), scheduler.StatusPatch{NominatedNode: &node}))
			require.Len(t, way.asked, 4)
			for k, least := range []time.Duration{10, 50, 250} {
				pause := way.asked[k+1].Sub(way.asked[k])
				require.GreaterOrEqual(t, pause, least*time.Millisecond)
				require.Less(t, pause, least*time.Millisecond*3/2)
				seen[pause] = true
			}
		}
		require.Greater(t, len(seen), 30, "clients that failed together do not come back together")
	})
}

// A deletion that is refused for good holds the preemption up for 1 s, doubling to 10 s. A success begins again at 1 s. A stop ends the
// wait.
func TestPausesOfRefusedDeletion(t *testing.T) { // B2.34
	synctest.Test(t, func(t *testing.T) {
		c, way, stop := refusing(t.Context(), http.StatusForbidden)
		defer stop()
		took := func(ctx context.Context) time.Duration {
			began := time.Now()
			_ = c.Delete(ctx, pod()) // the error is what TestDelete shows
			return time.Since(began)
		}
		for _, want := range []time.Duration{1, 2, 4, 8, 10, 10} {
			require.Equal(t, want*time.Second, took(t.Context()))
		}
		require.Len(t, way.asked, 6, "a deletion that is forbidden is asked for once")
		way.code = http.StatusOK
		require.Zero(t, took(t.Context()))
		way.code = http.StatusForbidden
		require.Equal(t, time.Second, took(t.Context()))
		over, cancel := context.WithCancel(t.Context())
		cancel()
		require.Zero(t, took(over))
		way.code = http.StatusNotFound
		require.Zero(t, took(t.Context()), "a pod that is gone holds nothing up")
		way.code = http.StatusForbidden
		c.Close()
		require.Zero(t, took(t.Context()))
	})
}
