package daemon

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler/live/internal/apitest"
)

var errRefused = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))

// A stop while the pods are asked for is no failure; a refusal is.
func TestCatchUpEnds(t *testing.T) {
	for _, stops := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		api := fake.NewClientset()
		api.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			if stops {
				cancel()
				return true, nil, ctx.Err()
			}
			return true, nil, errRefused
		})
		err := (&Daemon{api: api}).catchUp(ctx)
		require.Equal(t, stops, err == nil, "%v", err)
		cancel()
	}
}

// A list of pods that breaks off is read again from its beginning.
func TestBoundPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, asked := fake.NewClientset(), 0
		api.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			part := &v1.PodList{Items: []v1.Pod{*pod("a", as("1")), *pod("b", as("2"))}}
			switch asked++; asked {
			case 1:
				part.Continue = "more"
				return true, part, nil
			case 2:
				return true, nil, apierrors.NewInternalError(errors.New("etcd is slow"))
			}
			return true, part, nil
		})
		got, err := (&Daemon{api: api}).boundPods(t.Context())
		require.NoError(t, err)
		require.Equal(t, []boundPod{{"default", "a", "1"}, {"default", "b", "2"}}, got)
	})
}

// finish ends what New has started: a run that is stopped before it begins.
func finish(t *testing.T, d *Daemon) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, d.Run(ctx))
}

// The scheduler knows a pod when it was told of that pod, with a node. A pod is gone when the API server says so.
func TestCatchUp(t *testing.T) {
	phase := func(phase v1.PodPhase) func(*v1.Pod) { return func(p *v1.Pod) { p.Status.Phase = phase } }
	bound := pod("p", as("u"), on("n"))
	type test struct {
		name  string
		known *v1.Pod // when the watch begins to be late; nil: none
		now   *v1.Pod // in the API server after a second; nil: none
		fails bool    // the API server does not answer what the pod is
		waits bool
	}
	testkit.Run(t, []test{
		{"seen", bound, bound, false, false},
		{"not seen", nil, bound, false, true},
		{"seen before it was bound", pod("p", as("u")), bound, false, true},
		{"another was seen", pod("p", as("v"), on("n")), bound, false, true},
		{"deleted", nil, nil, false, false},
		{"replaced", nil, pod("p", as("v"), on("n")), false, false},
		{"succeeded", nil, pod("p", as("u"), on("n"), phase(v1.PodSucceeded)), false, false},
		{"failed", nil, pod("p", as("u"), on("n"), phase(v1.PodFailed)), false, false},
		{"running", nil, pod("p", as("u"), on("n"), phase(v1.PodRunning)), false, true},
		{"no answer", nil, nil, true, true},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			shown := make(chan struct{})
			api := &apitest.API{Answer: func(w http.ResponseWriter, r *http.Request) bool {
				if watches(r) {
					<-shown
				}
				if x.fails && asks(r, http.MethodGet, "/pods/p") {
					apitest.Refuse(w, http.StatusForbidden, "Forbidden")
					return true
				}
				return false
			}}
			api.Put(t, pod("pending"), pod("over", on("n"), phase(v1.PodSucceeded)))
			if x.known != nil {
				api.Put(t, x.known.DeepCopy())
			}
			d, err := New(t.Context(), configure(t, api))
			require.NoError(t, err)
			defer finish(t, d)
			d.Feed.Start(d.work)
			require.NoError(t, d.Feed.Wait(t.Context()))
			api.Put(t, bound.DeepCopy())
			ended := make(chan error, 1)
			go func() { ended <- d.catchUp(t.Context()) }()
			synctest.Wait()
			if x.name != "seen" {
				require.Empty(t, ended, "the pod is not known")
			}
			api.Remove("default/pods/p")
			if x.now != nil {
				api.Put(t, x.now.DeepCopy())
			}
			time.Sleep(goneCheck) // of the bubble
			synctest.Wait()
			require.Equal(t, x.waits, len(ended) == 0)
			close(shown)
			if x.waits {
				api.Put(t, pod("p", as("u"), on("n"), func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} }))
			}
			require.NoError(t, <-ended)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.NoError(t, d.catchUp(ctx), "a stop is no failure")
		})
	})
}
