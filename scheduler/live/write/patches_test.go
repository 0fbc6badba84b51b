package write_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/live/write"
)

// A patch that nobody waits for is sent again after 10 ms, doubling to 1 s, as often as Options say. Then its error is reported.
func TestPausesBetweenPatches(t *testing.T) {
	type test struct {
		name string
		code int
		want []time.Duration
	}
	testkit.Run(t, []test{
		{"failure", http.StatusInternalServerError, []time.Duration{10, 20, 40, 80, 160, 320, 640, 1000, 1000}},
		{"forbidden", http.StatusForbidden, nil},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			way, reported := &refusal{code: x.code}, 0
			c := write.New(kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://api", Transport: way, QPS: -1}), &view{pod()}, write.Options{
				Retry: make([]time.Duration, 9), OnError: func(error) { reported++ },
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go c.Run(ctx, 1)
			require.NoError(t, c.PatchStatus(t.Context(), pod(), unschedulable("a")))
			c.Flush(t.Context())
			require.Len(t, way.asked, len(x.want)+1)
			for k, pause := range x.want {
				require.Equal(t, pause*time.Millisecond, way.asked[k+1].Sub(way.asked[k]))
			}
			require.Equal(t, 1, reported)
		})
	})
}

// Of a pod the newest patch is sent. It takes over the nomination of a patch that waits, unless it has a nomination itself.
func TestPatchesReplace(t *testing.T) {
	with := func(p scheduler.StatusPatch, node string) scheduler.StatusPatch {
		p.NominatedNode = &node
		return p
	}
	type test struct {
		name          string
		first, second scheduler.StatusPatch
		want          any
	}
	testkit.Run(t, []test{
		{"no nomination", unschedulable("a"), unschedulable("b"), nil},
		{"kept", with(unschedulable("a"), "n1"), unschedulable("b"), "n1"},
		{"replaced", with(unschedulable("a"), "n1"), with(unschedulable("b"), "n2"), "n2"},
		{"added", unschedulable("a"), with(unschedulable("b"), "n2"), "n2"},
	}, func(t *testing.T, x test) {
		c, api := client(t, pod(), pod(), "patch", "status", nil)
		require.NoError(t, c.PatchStatus(t.Context(), pod(), x.first))
		require.NoError(t, c.PatchStatus(t.Context(), pod(), x.second))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go c.Run(ctx, 1)
		c.Flush(t.Context())
		sent := patches(api)
		require.Len(t, sent, 1)
		status := sent[0]["status"].(map[string]any)
		require.Equal(t, x.want, status["nominatedNodeName"])
		require.Equal(t, "b", status["conditions"].([]any)[0].(map[string]any)["message"])
	})
}

// A patch that comes while another of the pod is on its way is sent after it, also if the first fails.
func TestPatchDuringPatch(t *testing.T) {
	for _, answer := range []error{nil, io.ErrUnexpectedEOF} {
		synctest.Test(t, func(t *testing.T) {
			api := fake.NewClientset(pod())
			var c *write.Client
			sent := 0
			api.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				if sent++; sent > 1 {
					return true, &v1.Pod{}, nil
				}
				return true, &v1.Pod{}, errors.Join(answer, c.PatchStatus(t.Context(), pod(), unschedulable("b")))
			})
			c = write.New(api, &view{pod()}, write.Options{OnError: func(err error) { t.Error(err) }})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go c.Run(ctx, 1)
			require.NoError(t, c.PatchStatus(t.Context(), pod(), unschedulable("a")))
			c.Flush(t.Context())
			var messages []any
			for _, p := range patches(api) {
				messages = append(messages, p["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)["message"])
			}
			require.Equal(t, []any{"a", "b"}, messages)
		})
	}
}

// A nomination is written after the condition that waits. The error of the condition is reported, that of the nomination returned.
func TestNominationAfterCondition(t *testing.T) {
	for _, answer := range []error{nil, forbidden()} {
		node, reported := "n1", []error(nil)
		api, sent := fake.NewClientset(pod()), 0
		api.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			if sent++; sent > 1 {
				return true, &v1.Pod{}, nil
			}
			return true, &v1.Pod{}, answer
		})
		c := write.New(api, &view{pod()}, write.Options{OnError: func(err error) { reported = append(reported, err) }})
		require.NoError(t, c.PatchStatus(t.Context(), pod(), unschedulable("a")))
		require.NoError(t, c.PatchStatus(t.Context(), pod(), scheduler.StatusPatch{NominatedNode: &node}))
		require.Len(t, patches(api), 2)
		if answer == nil {
			require.Empty(t, reported)
		} else {
			require.Len(t, reported, 1)
			require.EqualError(t, reported[0], "updating the status of pod default/p: "+answer.Error())
		}
		c.Close()
		require.ErrorIs(t, c.PatchStatus(t.Context(), pod(), scheduler.StatusPatch{NominatedNode: &node}), context.Canceled)
	}
}

// After an answer that the informer is late, the patch is made from the API server's pod once.
func TestPatchAgain(t *testing.T) {
	invalid := apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "p", nil)
	type test struct {
		name   string
		answer error
		read   error
		sent   int
		err    string
	}
	updating := "updating the status of pod default/p: "
	testkit.Run(t, []test{
		{"conflict", conflict(), nil, 2, updating + conflict().Error()},
		{"invalid", invalid, nil, 2, updating + invalid.Error()},
		{"not found", notFound(), nil, 2, updating + notFound().Error()},
		{"forbidden", forbidden(), nil, 1, updating + forbidden().Error()},
		{"the pod cannot be read", invalid, forbidden(), 1, invalid.Error()},
		{"the pod is gone", notFound(), notFound(), 1, scheduler.ErrGone.Error()},
	}, func(t *testing.T, x test) {
		now := pod(func(p *v1.Pod) { p.ResourceVersion = "8" })
		api, node := fake.NewClientset(now), "n1"
		api.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, x.answer })
		if x.read != nil {
			api.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, x.read })
		}
		c := write.New(api, &view{pod()}, write.Options{Retry: []time.Duration{}})
		defer c.Close()
		require.EqualError(t, c.PatchStatus(t.Context(), pod(), scheduler.StatusPatch{NominatedNode: &node}), x.err)
		sent := patches(api)
		require.Len(t, sent, x.sent)
		for k, p := range sent {
			require.Equal(t, map[string]any{"uid": "u", "resourceVersion": []string{"7", "8"}[k]}, p["metadata"])
		}
	})
}

// A lost binding is looked for after 100 ms, doubling to 5 s, each longer by a random part of up to a half, until a tenth of the time-out
// after its end.
func TestPausesOfLostBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(pod())
		api.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, io.ErrUnexpectedEOF })
		var reads []time.Time
		api.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			reads = append(reads, time.Now())
			return false, nil, nil
		})
		c := write.New(api, &view{pod()}, write.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go c.Run(ctx, 1)
		for range 10 { // the pauses are random
			reads = nil
			began := time.Now()
			require.ErrorIs(t, c.Bind(ctx, pod(), "n1"), io.ErrUnexpectedEOF)
			require.Equal(t, began, reads[0])
			for k, least := range []time.Duration{100, 200, 400, 800, 1600, 3200, 5000} {
				pause := reads[k+1].Sub(reads[k])
				require.GreaterOrEqual(t, pause, least*time.Millisecond)
				require.Less(t, pause, least*time.Millisecond*3/2)
			}
			took := reads[len(reads)-1].Sub(began)
			require.Greater(t, took, 33*time.Second)
			require.Less(t, took, 36*time.Second)
		}
		c.Close() // ends the goroutine of the turns
	})
}

// What the API server refuses to say is not taken for a pod that is gone.
func TestBindingThatCannotBeRead(t *testing.T) {
	api := fake.NewClientset(pod())
	api.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, io.ErrUnexpectedEOF })
	api.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden() })
	c := write.New(api, &view{pod()}, write.Options{})
	defer c.Close()
	err := c.Bind(t.Context(), pod(), "n1")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NotErrorIs(t, err, scheduler.ErrGone)
}

// busy is the way to an API server that holds every request until it is closed.
type busy struct {
	asked atomic.Int64
	open  chan bool
}

func (b *busy) RoundTrip(r *http.Request) (*http.Response, error) {
	b.asked.Add(1)
	<-b.open
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

// A binding waits for the patch of its pod that is on its way.
func TestBindAfterPatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		way := &busy{open: make(chan bool)}
		c := write.New(kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://api", Transport: way, QPS: -1}), &view{pod()}, write.Options{})
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go c.Run(ctx, 1)
		require.NoError(t, c.PatchStatus(ctx, pod(), unschedulable("a")))
		synctest.Wait()
		bound := make(chan error)
		go func() { bound <- c.Bind(ctx, pod(), "n1") }()
		synctest.Wait()
		require.EqualValues(t, 1, way.asked.Load())
		close(way.open)
		require.NoError(t, <-bound)
		require.EqualValues(t, 2, way.asked.Load())
	})
}

// 48 bindings and 16 events are under way at a time. Bindings of a pod come one after the other.
func TestTakesTurns(t *testing.T) {
	type test struct {
		name string
		most int64
		ask  func(context.Context, *write.Client, *write.Recorder, *v1.Pod)
	}
	event := func(kind string) func(context.Context, *write.Client, *write.Recorder, *v1.Pod) {
		return func(_ context.Context, _ *write.Client, r *write.Recorder, p *v1.Pod) { r.Event(p, kind, "R", "A", "") }
	}
	bind := func(ctx context.Context, c *write.Client, _ *write.Recorder, p *v1.Pod) {
		go func() { _ = c.Bind(ctx, p, "n1") }()
	}
	testkit.Run(t, []test{
		{"bindings", 48, bind},
		{"bindings of one pod", 1, func(ctx context.Context, c *write.Client, r *write.Recorder, p *v1.Pod) {
			p.UID = "u"
			bind(ctx, c, r, p)
		}},
		{"events", 16, event(v1.EventTypeNormal)},
		{"warnings", 16, event(v1.EventTypeWarning)},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			way := &busy{open: make(chan bool)}
			api := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://api", Transport: way, QPS: -1})
			c, r := write.New(api, &view{pod()}, write.Options{}), write.NewRecorder(api, "mine")
			defer c.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go c.Run(ctx, 1)
			require.NoError(t, r.Start(ctx))
			for k := range 50 {
				name := fmt.Sprint("p", k)
				x.ask(ctx, c, r, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}})
			}
			synctest.Wait()
			require.Equal(t, x.most, way.asked.Load())
			close(way.open)
			r.Flush(ctx)
			synctest.Wait()
			require.EqualValues(t, 50, way.asked.Load())
		})
	})
}
