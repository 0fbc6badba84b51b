package write

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
)

// Events arrive with their fields, are sent again when no answer came, and are lost when they are refused.
func TestRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		var mu sync.Mutex
		answers := map[string][]error{
			"lost":    {io.ErrUnexpectedEOF, io.ErrUnexpectedEOF},
			"refused": {apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "refused", errors.New("no"))},
			"down":    slices.Repeat([]error{io.ErrUnexpectedEOF}, eventTries+1),
		}
		tries := map[string]int{}
		api.PrependReactor("create", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			name := a.(clienttesting.CreateAction).GetObject().(*eventsv1.Event).Regarding.Name
			tries[name]++
			if left := answers[name]; len(left) > 0 {
				answers[name] = left[1:]
				return true, nil, left[0]
			}
			return false, nil, nil
		})
		r := NewRecorder(api, "mine", "second")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		require.NoError(t, r.Start(ctx))
		before := lostEvents(t)
		for _, name := range []string{"plain", "lost", "refused", "down"} {
			p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "u", ResourceVersion: "7"}, Spec: v1.PodSpec{SchedulerName: "second"}}
			r.Event(p, v1.EventTypeNormal, "Scheduled", "Binding", "100% to n1")
		}
		other := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}, Spec: v1.PodSpec{SchedulerName: "theirs"}}
		r.Event(other, v1.EventTypeWarning, "FailedScheduling", "Scheduling", "no")
		time.Sleep(2 * eventTries * eventPause) // of the bubble
		r.Flush(ctx)
		require.Equal(t, map[string]int{"plain": 1, "lost": 3, "refused": 1, "down": eventTries, "other": 1}, tries)
		list, err := api.EventsV1().Events("default").List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		written := map[string]eventsv1.Event{}
		for _, e := range list.Items {
			written[e.Regarding.Name] = e
		}
		require.Len(t, written, 3)
		require.EqualValues(t, 2, lostEvents(t)-before, "refused and down")
		o := written["other"]
		require.Equal(t, []string{"Warning", "FailedScheduling", "Scheduling", "no", "mine"}, []string{o.Type, o.Reason, o.Action, o.Note, o.ReportingController})
		host, err := os.Hostname()
		require.NoError(t, err)
		e := written["plain"]
		require.Equal(t, v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "plain", UID: "u", ResourceVersion: "7"}, e.Regarding)
		require.Equal(t, []string{"Normal", "Scheduled", "Binding", "100% to n1", "second", "second-" + host},
			[]string{e.Type, e.Reason, e.Action, e.Note, e.ReportingController, e.ReportingInstance})
		require.Regexp(t, `^plain\.[0-9a-f]+$`, e.Name)
		require.False(t, e.EventTime.IsZero())
	})
}

// A warning that comes again about the same version of the pod makes its event a series. The next version begins another event.
func TestSeries(t *testing.T) { // B2.31
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		sent := make(chan string, 10)
		note := func(a clienttesting.Action) (bool, runtime.Object, error) {
			text := a.GetVerb()
			if p, ok := a.(clienttesting.PatchAction); ok {
				var body struct{ Series eventsv1.EventSeries }
				if err := json.Unmarshal(p.GetPatch(), &body); err != nil {
					return true, nil, err
				}
				text = fmt.Sprint(text, " ", body.Series.Count)
			}
			sent <- text
			return false, nil, nil
		}
		api.PrependReactor("create", "events", note)
		api.PrependReactor("patch", "events", note)
		r := NewRecorder(api, "mine")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		require.NoError(t, r.Start(ctx))
		warn := func(version, message string) string {
			p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "u", ResourceVersion: version}}
			r.Event(p, v1.EventTypeWarning, "FailedScheduling", "Scheduling", message)
			time.Sleep(time.Second) // of the bubble: the answer is taken, and the next event has another name
			return <-sent
		}
		require.Equal(t, "create", warn("7", "no node"))
		require.Equal(t, "patch 2", warn("7", "still no node"))
		require.Equal(t, "create", warn("8", "disk 90%d full"))
		began := time.Now()
		r.Flush(ctx)
		require.Zero(t, time.Since(began), "every event that was given has been written")
		require.Empty(t, sent)
		list, err := api.EventsV1().Events("default").List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		var notes []string
		for _, e := range list.Items {
			notes = append(notes, e.Note)
		}
		require.ElementsMatch(t, []string{"no node", "disk 90%d full"}, notes, "a note is text, not a format")
	})
}

// lostEvents returns the metric.
func lostEvents(t *testing.T) float64 {
	families, err := legacyregistry.DefaultGatherer.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "podberth_events_lost_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatal("there is no such metric")
	return 0
}

// Events beyond the room are lost and counted. One line says so, and another after half of the room was free.
func TestEventsBeyondRoom(t *testing.T) {
	var log bytes.Buffer
	defer klog.CaptureState().Restore()
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(&log, nil)))
	lines := func() int {
		return strings.Count(log.String(), `msg="Events are lost: too many wait for the API server"`)
	}
	r := NewRecorder(fake.NewClientset(), "mine")
	defer r.once.ShutDown()
	require.Equal(t, 100_000, r.room)
	r.room = 4
	before := lostEvents(t)
	note := func() { r.Event(&v1.Pod{}, v1.EventTypeNormal, "Scheduled", "Binding", "") }
	take := func() {
		e, _ := r.once.Get()
		r.once.Done(e)
	}
	for range 6 {
		note()
	}
	take()
	for range 2 {
		note()
	}
	require.Equal(t, 4, r.once.Len())
	require.EqualValues(t, 3, lostEvents(t)-before)
	require.Equal(t, 1, lines())
	for range 3 {
		take()
	}
	for range 4 {
		note()
	}
	require.Equal(t, 2, lines())
	for range 2 {
		take()
	}
	for range 3 {
		note()
	}
	require.Equal(t, 2, lines(), "half of the room was full")
}
