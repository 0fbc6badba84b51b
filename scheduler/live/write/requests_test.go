package write_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
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
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/live/write"
	"github.com/podberth/podberth/volumes"
)

// answers is the way to an API server that answers requests in turn, the last answer forever: a status code with a body, or no code and
// the loss of the connection.
type answers struct {
	next  []answer
	asked []*http.Request
}

type answer struct {
	code int
	body string
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	now := a.next[0]
	if len(a.next) > 1 {
		a.next = a.next[1:]
	}
	a.asked = append(a.asked, r)
	if now.code == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{StatusCode: now.code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(now.body)), Request: r}, nil
}

func (a *answers) client() *kubernetes.Clientset {
	return kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://api", Transport: a, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
}

// Each write goes to its path. The context of its request ends with the request.
func TestRequests(t *testing.T) {
	node := "n1"
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	devices := func(uid string) []*resourcev1.ResourceClaim {
		return []*resourcev1.ResourceClaim{deviceClaim(func(x *resourcev1.ResourceClaim) { x.UID = types.UID(uid) })}
	}
	const core, claims = "/api/v1/", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
	const events = "/apis/events.k8s.io/v1/namespaces/default/events"
	ok, found := answer{http.StatusOK, `{"metadata":{"uid":"u"}}`}, answer{http.StatusOK, `{"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1","metadata":{"namespace":"default","name":"d","uid":"d","finalizers":["f"]}}`}
	type test struct {
		name    string
		answers []answer
		write   func(context.Context, *write.Client, *write.Recorder) error
		want    []string
	}
	testkit.Run(t, []test{
		{"binding", []answer{{http.StatusCreated, "no object"}}, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.Bind(ctx, pod(), node)
		}, []string{"POST " + core + "namespaces/default/pods/p/binding"}},
		{"binding that is looked for", []answer{{http.StatusConflict, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`}, {http.StatusOK, `{"kind":"Pod","apiVersion":"v1","metadata":{"uid":"u"},"spec":{"nodeName":"n1"}}`}}, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.Bind(ctx, pod(), node)
		}, []string{"POST " + core + "namespaces/default/pods/p/binding", "GET " + core + "namespaces/default/pods/p"}},
		{"nomination", []answer{ok}, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.PatchStatus(ctx, pod(), scheduler.StatusPatch{NominatedNode: &node})
		}, []string{"PATCH " + core + "namespaces/default/pods/p/status"}},
		{"deletion", []answer{ok}, func(ctx context.Context, c *write.Client, _ *write.Recorder) error { return c.Delete(ctx, pod()) },
			[]string{"DELETE " + core + "namespaces/default/pods/p"}},
		{"volume", []answer{ok}, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.BindVolumes(ctx, pod(), volumes.Decision{Node: node, Bind: []volumes.Match{{Claim: claim, Volume: pv}}})
		}, []string{"PUT " + core + "persistentvolumes/pv"}},
		{"claim of a volume", []answer{ok}, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.BindVolumes(ctx, pod(), volumes.Decision{Node: node, Provision: []*v1.PersistentVolumeClaim{claim}})
		}, []string{"PUT " + core + "namespaces/default/persistentvolumeclaims/c"}},
		{"claim of devices", []answer{found}, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.WriteClaims(ctx, pod(), scheduler.ClaimWrites{Set: devices("d")})
		}, []string{"PUT " + claims + "/d", "PUT " + claims + "/d/status"}},
		{"new claim of devices", []answer{found}, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.WriteClaims(ctx, pod(), scheduler.ClaimWrites{Set: devices("")})
		}, []string{"POST " + claims, "PUT " + claims + "/d/status", "GET " + claims + "/d", "PUT " + claims + "/d", "DELETE " + claims + "/d"}},
		{"claim of devices that goes", []answer{found}, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.WriteClaims(ctx, pod(), scheduler.ClaimWrites{Delete: devices("d")})
		}, []string{"PUT " + claims + "/d", "DELETE " + claims + "/d"}},
		{"reservation that goes", []answer{found}, func(ctx context.Context, c *write.Client, _ *write.Recorder) error {
			return c.WriteClaims(ctx, pod(), scheduler.ClaimWrites{Unreserve: devices("d")})
		}, []string{"PATCH " + claims + "/d/status"}},
		{"event", []answer{{http.StatusCreated, "no object"}}, func(ctx context.Context, _ *write.Client, r *write.Recorder) error {
			r.Event(pod(), v1.EventTypeNormal, "Scheduled", "Binding", "")
			time.Sleep(15 * time.Second) // of the bubble: it is not sent again
			return nil
		}, []string{"POST " + events}},
		{"warning", []answer{ok}, func(ctx context.Context, _ *write.Client, r *write.Recorder) error {
			r.Event(pod(), v1.EventTypeWarning, "FailedScheduling", "Scheduling", "")
			time.Sleep(15 * time.Second)
			return nil
		}, []string{"POST " + events}},
		{"warning that is lost", []answer{{}, ok}, func(ctx context.Context, _ *write.Client, r *write.Recorder) error {
			r.Event(pod(), v1.EventTypeWarning, "FailedScheduling", "Scheduling", "")
			time.Sleep(15 * time.Second)
			return nil
		}, []string{"POST " + events, "POST " + events}},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			way := &answers{next: x.answers}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			c, r := write.New(way.client(), &view{pod()}, write.Options{}), write.NewRecorder(way.client(), "mine")
			defer c.Close()
			defer r.Flush(ctx)
			go c.Run(ctx, 1)
			require.NoError(t, r.Start(ctx))
			tired := errors.New("nothing is reported")
			call, end := context.WithCancelCause(ctx)
			time.AfterFunc(10*time.Second, func() { end(tired) }) // before the contexts of requests end by themselves
			if err := x.write(call, c, r); err != nil && !errors.Is(err, tired) {
				require.ErrorContains(t, err, `node "n1" not found`, "the informers know no node")
			}
			synctest.Wait()
			var got []string
			for _, r := range way.asked {
				got = append(got, r.Method+" "+r.URL.Path)
				require.Error(t, r.Context().Err(), "%s has ended", r.URL.Path)
			}
			require.Equal(t, x.want, got)
		})
	})
}

// A binding of v1.37 is tried again after 10, 50 and 250 ms, each longer by a random part of up to a half. Close ends the pauses.
func TestPausesBetweenBindings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, closes := range []bool{false, true} {
			way := &refusal{code: http.StatusServiceUnavailable}
			c := write.New(kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://api", Transport: way, QPS: -1}), &view{pod()}, write.Options{Release: release.V1_37})
			ctx, cancel := context.WithCancel(t.Context())
			go c.Run(ctx, 1)
			if closes {
				time.AfterFunc(20*time.Millisecond, c.Close)
			}
			err := c.Bind(ctx, pod(), "n1")
			require.Error(t, err)
			require.NotErrorIs(t, err, context.Canceled)
			if closes {
				require.Len(t, way.asked, 2)
			} else {
				require.Len(t, way.asked, 5, "four tries, and then the pod is looked for")
				for k, least := range []time.Duration{10, 50, 250} {
					pause := way.asked[k+1].Sub(way.asked[k])
					require.GreaterOrEqual(t, pause, least*time.Millisecond)
					require.Less(t, pause, least*time.Millisecond*3/2)
				}
			}
			c.Close()
			cancel()
		}
	})
}

// Close ends the tries of a write, and a binding after it fails.
func TestCloseEndsTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := "n1"
		c, way, stop := refusing(t.Context(), http.StatusInternalServerError)
		defer stop()
		time.AfterFunc(20*time.Millisecond, c.Close)
		err := c.PatchStatus(t.Context(), pod(), scheduler.StatusPatch{NominatedNode: &node})
		require.ErrorContains(t, err, "updating the status of pod default/p: ")
		require.NotErrorIs(t, err, context.Canceled)
		require.Len(t, way.asked, 2)
		require.ErrorIs(t, c.Bind(t.Context(), pod(), node), context.Canceled)
		require.Len(t, way.asked, 2)
	})
}

// While another may not write, a lost binding is looked for, and no longer. No request takes longer than Timeout.
func TestUntilBoundsLostBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		way := &answers{next: []answer{{}}}
		c := write.New(way.client(), &view{pod()}, write.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go c.Run(ctx, 1)
		began := time.Now()
		c.Until(began.Add(time.Minute))
		require.ErrorIs(t, c.Bind(ctx, pod(), "n1"), io.ErrUnexpectedEOF)
		require.GreaterOrEqual(t, time.Since(began), time.Minute)
		require.Less(t, time.Since(began), time.Minute+8*time.Second)
		c.Close()

		late := silence{make(chan time.Duration, 1)}
		c = write.New(kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://api", Transport: late}), &view{pod()}, write.Options{})
		defer c.Close()
		go c.Run(ctx, 1)
		c.Until(time.Now().Add(time.Hour))
		require.Error(t, c.BindVolumes(ctx, pod(), volumes.Decision{Node: "n1", Bind: []volumes.Match{{Claim: volumeClaim(), Volume: pv(unclaimed)}}}))
		require.Equal(t, 30*time.Second, <-late.waited)
	})
}
