package write

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/podberth/podberth/scheduler"
)

// Recorder writes events of events.k8s.io/v1. client-go joins equal warnings about one version of a pod into a series. Other events, such
// as that of a binding, happen once, and the recorder forgets them when they are written.
type Recorder struct {
	broadcaster events.EventBroadcaster
	sink        *countingSink
	recorders   map[string]events.EventRecorderLogger
	instance    string // of the process, after the name of the profile
	first       string
	noted       atomic.Int64
	room        int
	full        atomic.Bool // events are lost, which was logged
	once        workqueue.TypedRateLimitingInterface[*eventsv1.Event]
	post        post
}

var _ scheduler.Recorder = (*Recorder)(nil)

// An event that cannot be sent is sent again this often, with this pause. More events than eventRoom are lost.
const (
	eventTries   = 12
	eventPause   = 10 * time.Second
	eventTimeout = 30 * time.Second // of a request
	eventRoom    = 100_000
)

// lost counts events that happen once and were not written: the API server refused them or did not answer, or too many waited.
var lost = metrics.NewCounter(&metrics.CounterOpts{Name: "podberth_events_lost_total", Help: "Number of events about bindings and victims that were not written."})

func init() { legacyregistry.MustRegister(lost) }

// NewRecorder returns a recorder that writes in the names of the profiles. At least one profile is needed. An event about a pod
// of another scheduler, a victim, is written in the name of the first profile.
func NewRecorder(api kubernetes.Interface, profiles ...string) *Recorder {
	sink := &countingSink{EventSink: &events.EventSinkImpl{Interface: api.EventsV1()}, turns: newTurns(eventTurns)}
	r := &Recorder{
		broadcaster: events.NewBroadcaster(sink), sink: sink, post: postBy(api.EventsV1().RESTClient()), recorders: map[string]events.EventRecorderLogger{}, first: profiles[0], room: eventRoom,
	}
	for _, name := range profiles {
		r.recorders[name] = r.broadcaster.NewRecorder(scheme.Scheme, name)
	}
	r.instance, _ = os.Hostname() // "" if the host has no name
	r.once = workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[*eventsv1.Event](eventPause, eventPause))
	return r
}

// Start writes events until the context ends. Events from before Start are lost.
func (r *Recorder) Start(ctx context.Context) error {
	for range eventTurns {
		go func() {
			for r.writeOne(ctx) {
			}
		}()
	}
	context.AfterFunc(ctx, r.once.ShutDown)
	return r.broadcaster.StartRecordingToSinkWithContext(ctx)
}

// Event writes an event later. The note is text, not a format.
func (r *Recorder) Event(pod *v1.Pod, kind, reason, action, note string) {
	name := pod.Spec.SchedulerName
	recorder := r.recorders[name]
	if recorder == nil {
		name, recorder = r.first, r.recorders[r.first]
	}
	if kind == v1.EventTypeWarning {
		r.noted.Add(1)
		recorder.Eventf(pod, nil, kind, reason, action, "%s", note)
		return
	}
	if !r.hasRoom() {
		lost.Inc()
		return
	}
	r.noted.Add(1)
	now := time.Now()
	r.once.Add(&eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: util.GenerateEventName(pod.Name, now.UnixNano())},
		EventTime:  metav1.MicroTime{Time: now}, Type: kind, Reason: reason, Action: action, Note: note,
		ReportingController: name, ReportingInstance: name + "-" + r.instance,
		Regarding: v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion},
	})
}

// hasRoom reports whether another event may wait. It logs that events are lost once, and again after half of the room was free.
func (r *Recorder) hasRoom() bool {
	n := r.once.Len()
	if n >= r.room && !r.full.Swap(true) {
		klog.ErrorS(nil, "Events are lost: too many wait for the API server", "waiting", n)
	}
	if n < r.room/2 {
		r.full.Store(false)
	}
	return n < r.room
}

// writeOne writes the next event that happens once. It returns false when the context has ended. What the API server refuses is
// lost, which is logged; an event that was not answered is sent again.
func (r *Recorder) writeOne(ctx context.Context) bool {
	e, over := r.once.Get()
	if over {
		return false
	}
	defer r.once.Done(e)
	err := r.create(ctx, e)
	var refused apierrors.APIStatus
	if err != nil && !errors.As(err, &refused) && r.once.NumRequeues(e) < eventTries-1 {
		r.once.AddRateLimited(e)
		return true
	}
	r.once.Forget(e)
	if err != nil {
		lost.Inc()
		klog.ErrorS(err, "Event lost", "reason", e.Reason, "pod", klog.KRef(e.Regarding.Namespace, e.Regarding.Name))
	}
	return true
}

func (r *Recorder) create(ctx context.Context, e *eventsv1.Event) (err error) {
	defer r.sink.begin()()
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	if r.post == nil {
		_, err = r.sink.EventSink.Create(ctx, e)
		return err
	}
	return r.post(ctx, "/apis/events.k8s.io/v1/namespaces/"+e.Namespace+"/events", e)
}

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

// countingSink counts requests, and lets those of client-go take turns.
type countingSink struct {
	events.EventSink
	turns *turns
	began atomic.Int64

	mu      sync.Mutex
	running int
}

func (s *countingSink) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running == 0
}

// begin counts a request. done is called when it has ended.
func (s *countingSink) begin() (done func()) {
	s.began.Add(1)
	s.mu.Lock()
	s.running++
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
	}
}

func (s *countingSink) turn(ctx context.Context, write func(context.Context) (*eventsv1.Event, error)) (e *eventsv1.Event, err error) {
	defer s.begin()()
	err = s.turns.do(ctx, func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, eventTimeout)
		defer cancel()
		e, err = write(ctx)
		return err
	})
	return e, err
}

// Create creates an event.
func (s *countingSink) Create(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return s.turn(ctx, func(ctx context.Context) (*eventsv1.Event, error) { return s.EventSink.Create(ctx, e) })
}

// Patch makes an event a series.
func (s *countingSink) Patch(ctx context.Context, e *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	return s.turn(ctx, func(ctx context.Context) (*eventsv1.Event, error) { return s.EventSink.Patch(ctx, e, data) })
}
