package write

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/podberth/podberth/internal/testkit"
)

// slow is the way to an API server that takes so long for a request, and then answers or loses the connection.
type slow struct {
	takes time.Duration
	lost  error
	done  atomic.Int64
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.takes):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	s.done.Add(1)
	if s.lost != nil {
		return nil, s.lost
	}
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

// recorder returns a recorder of such an API server.
func (s *slow) recorder() *Recorder {
	return NewRecorder(kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://api", Transport: s, QPS: -1}), "mine")
}

// Flush waits until the events that were given are written, or until the context ends. Events of which no request begins for 50 ms are
// parts of a series.
func TestFlush(t *testing.T) {
	const takes = 1010 * time.Millisecond
	type test struct {
		name, why  string
		idle       bool // nobody writes
		kind       string
		events     int
		begun      bool // requests have begun when Flush is called
		ended      bool // and have ended
		limit      time.Duration
		want       time.Duration
		eventsThen int64 // that are written
	}
	normal, warning := v1.EventTypeNormal, v1.EventTypeWarning
	testkit.Run(t, []test{
		{"nothing", "nothing was given", false, normal, 0, false, false, time.Hour, 0, 0},
		{"event that is written", "nothing is left", false, normal, 1, true, true, time.Hour, 0, 1},
		{"event under way", "looked at each 50 ms", false, normal, 1, true, false, time.Hour, 1050 * time.Millisecond, 1},
		{"event", "it is sent while Flush waits", false, normal, 1, false, false, time.Hour, 1050 * time.Millisecond, 1},
		{"events", "16 at a time", false, normal, 17, false, false, time.Hour, 2050 * time.Millisecond, 17},
		{"warning under way", "client-go sends it", false, warning, 1, true, false, time.Hour, 1050 * time.Millisecond, 1},
		{"limit", "the API server takes longer", false, normal, 1, true, false, 200 * time.Millisecond, 200 * time.Millisecond, 0},
		{"nobody writes an event", "no request begins", true, normal, 1, false, false, time.Hour, quiet, 0},
		{"nobody writes a warning", "no request begins", true, warning, 1, true, false, time.Hour, quiet, 0},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			way := &slow{takes: takes}
			r := way.recorder()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if x.idle {
				defer r.once.ShutDown()
			} else {
				require.NoError(t, r.Start(ctx))
			}
			synctest.Wait()
			for k := range x.events {
				r.Event(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: string(rune('a' + k)), UID: "u"}}, x.kind, "R", "A", "")
			}
			if x.begun {
				synctest.Wait()
			}
			if x.ended {
				time.Sleep(2 * takes)
			}
			flush, end := context.WithTimeout(ctx, x.limit)
			defer end()
			began := time.Now()
			r.Flush(flush)
			require.Equal(t, x.want, time.Since(began), x.why)
			require.Equal(t, x.eventsThen, way.done.Load())
			time.Sleep(takes) // the request under way ends
		})
	})
}

// A request that begins and ends while Flush is quiet shows that others may follow.
func TestFlushGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(slow).recorder()
		defer r.once.ShutDown()
		r.noted.Add(5)
		time.AfterFunc(quiet/2, func() { r.sink.begin()() })
		began := time.Now()
		r.Flush(t.Context())
		require.Equal(t, 2*quiet, time.Since(began))
		require.EqualValues(t, 1, r.sink.began.Load())
	})
}

// A recorder that was stopped does not start.
func TestStartAfterFlush(t *testing.T) {
	r := new(slow).recorder()
	r.Flush(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.Error(t, r.Start(ctx))
}

// forgetting counts the events whose failures are forgotten.
type forgetting struct {
	workqueue.TypedRateLimitingInterface[*eventsv1.Event]
	events map[*eventsv1.Event]int // failures
}

func (f forgetting) Forget(e *eventsv1.Event) {
	f.events[e] = f.NumRequeues(e)
	f.TypedRateLimitingInterface.Forget(e)
}

// An event that gets no answer is sent twelve times, every 10 s. Then it is lost, which a line of the log says. Nothing is kept about it.
func TestLostEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		defer klog.CaptureState().Restore()
		klog.SetSlogLogger(slog.New(slog.NewTextHandler(&log, nil)))
		way := &slow{lost: io.ErrUnexpectedEOF}
		r := way.recorder()
		f := forgetting{r.once, map[*eventsv1.Event]int{}}
		r.once = f
		before := lostEvents(t)
		r.Event(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}, v1.EventTypeNormal, "Scheduled", "Binding", "")
		began := time.Now()
		for range 12 {
			require.Empty(t, f.events)
			require.True(t, r.writeOne(t.Context()))
		}
		require.Equal(t, 110*time.Second, time.Since(began))
		require.EqualValues(t, 12, way.done.Load())
		require.EqualValues(t, 1, lostEvents(t)-before)
		require.Contains(t, log.String(), "level=ERROR msg=\"Event lost\" err=\"Post \\\"http://api/apis/events.k8s.io/v1/namespaces/default/events\\\": unexpected EOF\" reason=Scheduled pod.name=p pod.namespace=default")
		require.Len(t, f.events, 1)
		for e, failures := range f.events {
			require.Equal(t, 11, failures)
			require.Zero(t, r.once.NumRequeues(e))
		}
		r.once.ShutDown()
		require.False(t, r.writeOne(t.Context()))
		r.Flush(t.Context())
	})
}

// client-go gets the events as the API server has them.
func TestSinkAnswers(t *testing.T) {
	r := NewRecorder(fake.NewClientset(), "mine")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e, err := r.sink.Create(ctx, &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "e"}})
	require.NoError(t, err)
	require.Equal(t, "e", e.Name)
	e, err = r.sink.Patch(ctx, e, []byte(`{"note":"n"}`))
	require.NoError(t, err)
	require.Equal(t, "n", e.Note)
}
