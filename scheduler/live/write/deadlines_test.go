package write_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/live/write"
	"github.com/podberth/podberth/volumes"
)

// A request tells the API server how long it may take, ends by itself, and does not begin when the time is over.
func TestUntil(t *testing.T) {
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the end of the request is seen
		asked <- r.URL.Query().Get("timeout")
		<-r.Context().Done()
	}))
	defer server.Close()
	way := &rest.Config{Host: server.URL}
	way.Wrap(write.Deadlines)
	c := write.New(kubernetes.NewForConfigOrDie(way), &view{pod()}, write.Options{Timeout: time.Hour})
	defer c.Close()
	const left = 2 * time.Second // the server is to be asked in it
	end := time.Now().Add(left)
	c.Until(end)
	require.ErrorContains(t, c.Bind(t.Context(), pod(), "n1"), "context deadline exceeded")
	require.False(t, time.Now().Before(end))
	told, err := time.ParseDuration(<-asked)
	require.NoError(t, err)
	require.Positive(t, told)
	require.LessOrEqual(t, told, left)
	require.ErrorContains(t, c.Bind(t.Context(), pod(), "n1"), "context deadline exceeded")
	require.Empty(t, asked, "nothing is asked after the time")
}

// A request whose time is over at this moment is not sent.
func TestNoTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api", nil)
		require.NoError(t, err)
		way := silence{make(chan time.Duration, 1)}
		_, err = write.Deadlines(way).RoundTrip(r)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, way.waited)
	})
}

// The time that is left is one more parameter of the request that is sent. The caller's request stays as it is, and so do requests
// without a deadline.
func TestDeadlines(t *testing.T) {
	type test struct {
		name, url string
		left      time.Duration // 0: no deadline
		want      string
	}
	testkit.Run(t, []test{
		{"no deadline", "http://api/x?watch=true", 0, "watch=true"},
		{"no query", "http://api/x", 1500 * time.Millisecond, "timeout=1.5s"},
		{"query", "http://api/x?a=b", time.Minute, "a=b&timeout=1m0s"},
		{"the last moment", "http://api/x", time.Nanosecond, "timeout=1ns"},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), x.left)
			defer cancel()
			if x.left == 0 {
				ctx = t.Context()
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, x.url, nil)
			require.NoError(t, err)
			way := &answers{next: []answer{{http.StatusOK, ""}}}
			wrapped := write.Deadlines(way)
			answered, err := wrapped.RoundTrip(r)
			require.NoError(t, err)
			require.NoError(t, answered.Body.Close())
			require.Equal(t, x.url, r.URL.String(), "the caller's")
			require.Equal(t, x.want, way.asked[0].URL.RawQuery)
			require.Same(t, way, wrapped.(interface{ WrappedRoundTripper() http.RoundTripper }).WrappedRoundTripper())
		})
	})
}

// silence is the way to an API server that never answers. It takes down how long each request waited.
type silence struct{ waited chan time.Duration }

func (s silence) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	<-r.Context().Done()
	s.waited <- time.Since(began)
	return nil, r.Context().Err()
}

// Every write ends after 30 s when no answer comes, and is then tried again as a write whose answer was lost.
func TestNoAnswer(t *testing.T) { // B2.30
	node, claim := "n1", &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	devices := func(uid types.UID) *resourcev1.ResourceClaim {
		return &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d", UID: uid}}
	}
	type test struct {
		name, why string
		requests  int
		write     func(context.Context, *write.Client, *write.Recorder) error
	}
	testkit.Run(t, []test{
		{"binding", "the pod is read until the lease is over", 2, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			c.Until(time.Now().Add(time.Minute))
			return c.Bind(ctx, pod(), node)
		}},
		{"nomination", "three retries", 4, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.PatchStatus(ctx, pod(), scheduler.StatusPatch{NominatedNode: &node})
		}},
		{"deletion", "three retries", 4, func(ctx context.Context, c *write.Client, _ *write.Recorder) error { return c.Delete(ctx, pod()) }},
		{"volume", "the attempt fails", 1, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.BindVolumes(ctx, pod(), volumes.Decision{Node: node, Bind: []volumes.Match{{Claim: claim, Volume: pv}}})
		}},
		{"claim of a volume", "the attempt fails", 1, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.BindVolumes(ctx, pod(), volumes.Decision{Node: node, Provision: []*v1.PersistentVolumeClaim{claim}})
		}},
		{"claim of devices", "the attempt fails", 1, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.WriteClaims(ctx, pod(), scheduler.ClaimWrites{Set: []*resourcev1.ResourceClaim{devices("d")}})
		}},
		{"new claim of devices", "the attempt fails", 1, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.WriteClaims(ctx, pod(), scheduler.ClaimWrites{Set: []*resourcev1.ResourceClaim{devices("")}})
		}},
		{"claim of devices that goes", "the attempt fails", 1, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.WriteClaims(ctx, pod(), scheduler.ClaimWrites{Delete: []*resourcev1.ResourceClaim{devices("d")}})
		}},
		{"event", "it is sent again after a pause", 1, func(ctx context.Context, _ *write.Client, r *write.Recorder) error {
			r.Event(pod(), v1.EventTypeNormal, "Scheduled", "Binding", "")
			r.Flush(ctx)
			return context.DeadlineExceeded
		}},
		{"warning", "it is sent again after a pause", 1, func(ctx context.Context, _ *write.Client, r *write.Recorder) error {
			r.Event(pod(), v1.EventTypeWarning, "FailedScheduling", "Scheduling", "")
			synctest.Wait() // client-go takes it in a goroutine
			r.Flush(ctx)
			return context.DeadlineExceeded
		}},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			way := silence{make(chan time.Duration, 100)}
			api := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://api", Transport: way})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c, r := write.New(api, &view{pod()}, write.Options{}), write.NewRecorder(api, "mine")
			defer c.Close()
			defer r.Flush(ctx)
			go c.Run(ctx, 1)
			require.NoError(t, r.Start(ctx))
			require.ErrorIs(t, x.write(ctx, c, r), context.DeadlineExceeded)
			require.Len(t, way.waited, x.requests, x.why)
			for range x.requests {
				require.Equal(t, 30*time.Second, <-way.waited)
			}
		})
	})
}
