package write

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"github.com/podberth/podberth/examples/scheduler"
)

// Recorder writes events of events.k8s.io/v1. Equal events of one version of a pod become a series.
type Recorder struct {
	broadcaster events.EventBroadcaster
	sink        *countingSink
	recorders   map[string]events.EventRecorderLogger
	first       string
	noted       atomic.Int64
}

var _ scheduler.Recorder = (*Recorder)(nil)

// NewRecorder returns a recorder that writes in the names of the profiles. At least one profile is needed. An event about a pod
// of another scheduler, a victim, is written in the name of the first profile.
func NewRecorder(api kubernetes.Interface, profiles ...string) *Recorder {
	sink := &countingSink{EventSink: &events.EventSinkImpl{Interface: api.EventsV1()}}
	r := &Recorder{broadcaster: events.NewBroadcaster(sink), sink: sink, recorders: map[string]events.EventRecorderLogger{}, first: profiles[0]}
	for _, name := range profiles {
		r.recorders[name] = r.broadcaster.NewRecorder(scheme.Scheme, name)
	}
	return r
}

// Start writes events until the context ends. Events from before Start are lost.
func (r *Recorder) Start(ctx context.Context) error {
	return r.broadcaster.StartRecordingToSinkWithContext(ctx)
}

// Event writes an event later. The note is text, not a format.
func (r *Recorder) Event(pod *v1.Pod, kind, reason, action, note string) {
	recorder := r.recorders[pod.Spec.SchedulerName]
	if recorder == nil {
		recorder = r.recorders[r.first]
	}
	r.noted.Add(1)
	recorder.Eventf(pod, nil, kind, reason, action, "%s", note)
}

// Lost returns the number of events that the API server did not take.
func (r *Recorder) Lost() int64 { return r.sink.lost.Load() }

// quiet is how long no request may begin before Flush takes the events that are left for parts of a series, which are not
// written.
const quiet = 50 * time.Millisecond

// Flush waits until the events that were given are written, or until the context ends, and stops the recorder.
func (r *Recorder) Flush(ctx context.Context) {
	r.broadcaster.Shutdown()
	for ctx.Err() == nil {
		began := r.sink.began.Load()
		if r.sink.idle() && began >= r.noted.Load() {
			return
		}
		select {
		case <-time.After(quiet):
		case <-ctx.Done():
		}
		if r.sink.idle() && began == r.sink.began.Load() {
			return
		}
	}
}

// countingSink counts the requests of a sink.
type countingSink struct {
	events.EventSink
	began, lost atomic.Int64

	mu      sync.Mutex
	running int
}

func (s *countingSink) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running == 0
}

func (s *countingSink) count(write func() (*eventsv1.Event, error)) (*eventsv1.Event, error) {
	s.began.Add(1)
	s.mu.Lock()
	s.running++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
	}()
	e, err := write()
	if err != nil {
		s.lost.Add(1)
	}
	return e, err
}

// Create creates an event.
func (s *countingSink) Create(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return s.count(func() (*eventsv1.Event, error) { return s.EventSink.Create(ctx, e) })
}

// Patch makes an event a series.
func (s *countingSink) Patch(ctx context.Context, e *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	return s.count(func() (*eventsv1.Event, error) { return s.EventSink.Patch(ctx, e, data) })
}
