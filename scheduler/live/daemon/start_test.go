package daemon

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler/live/feed"
	"github.com/podberth/podberth/scheduler/live/internal/apitest"
	"github.com/podberth/podberth/scheduler/live/lead"
)

// sentences returns the needs as sentences.
func sentences(needs []authorizationv1.ResourceAttributes) (out []string) {
	for _, n := range needs {
		out = append(out, sentence(n))
	}
	return out
}

// The account needs to read every kind of the feed, and to write what a scheduler writes.
func TestNeeds(t *testing.T) {
	var devices []schema.GroupVersionResource
	var plain, reads []string // plain: without devices
	for _, r := range feed.Kinds() {
		name := r.GroupResource().String()
		reads = append(reads, "list "+name, "watch "+name)
		if r.Group == "resource.k8s.io" {
			devices = append(devices, r)
		} else {
			plain = append(plain, "list "+name, "watch "+name)
		}
	}
	written := []string{
		"get pods", "delete pods", "create pods/binding", "patch pods/status", "update persistentvolumes", "update persistentvolumeclaims",
		"create events.events.k8s.io", "patch events.events.k8s.io",
	}
	claims := []string{
		"create resourceclaims.resource.k8s.io", "update resourceclaims.resource.k8s.io", "delete resourceclaims.resource.k8s.io",
		"update resourceclaims.resource.k8s.io/status", "patch resourceclaims.resource.k8s.io/status", "update resourceclaims.resource.k8s.io/binding", "patch resourceclaims.resource.k8s.io/binding",
	}
	require.Equal(t, slices.Concat(reads, written, claims), sentences(needs(nil, nil, nil)))
	require.Equal(t, slices.Concat(plain, written), sentences(needs(devices, nil, nil)), "a server without devices")
	require.Equal(t, slices.Concat(plain, written, []string{
		"create leases.coordination.k8s.io in namespace kube-system", "get leases.coordination.k8s.io l in namespace kube-system",
		"update leases.coordination.k8s.io l in namespace kube-system", "create events in namespace kube-system",
	}), sentences(needs(devices, nil, &lead.Lease{Namespace: "kube-system", Name: "l"})))
	require.Equal(t, slices.Concat(plain, []string{
		"list compositepodgroups.scheduling.k8s.io", "watch compositepodgroups.scheduling.k8s.io",
		"list podgroups.scheduling.k8s.io", "watch podgroups.scheduling.k8s.io", "patch podgroups.scheduling.k8s.io/status",
	}, written), sentences(needs(devices, feed.GroupKinds(&podgroup.Gates{Composites: true}), nil)), "groups of pods")
}

// Each need that the server refuses is a line of the error.
func TestCheckPermissions(t *testing.T) {
	api := fake.NewClientset()
	api.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		r := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		switch r.Spec.ResourceAttributes.Verb {
		case "watch":
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "selfsubjectaccessreviews"}, "", errors.New("no reviews"))
		case "get":
			r.Status.Allowed = true
		}
		return true, r, nil
	})
	list := make([]authorizationv1.ResourceAttributes, 3*reviewers)
	for k := range list {
		list[k] = authorizationv1.ResourceAttributes{Resource: "pods", Verb: "get"}
	}
	require.NoError(t, checkPermissions(t.Context(), api, list, nil))
	list[1].Verb, list[20].Verb = "delete", "watch"
	err := checkPermissions(t.Context(), api, list, nil)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 2)
	require.Equal(t, "the account may not delete pods", lines[0])
	require.True(t, strings.HasPrefix(lines[1], "asking whether the account may watch pods: "), lines[1])
}

// A server may lack the resources of devices, and no others.
func TestServed(t *testing.T) {
	offer := func(but func(schema.GroupVersionResource) bool) *fake.Clientset {
		api := fake.NewClientset()
		byVersion := map[string]*metav1.APIResourceList{}
		d := api.Discovery().(*fakediscovery.FakeDiscovery)
		d.FakedServerVersion = &version.Info{GitVersion: "v1.30.0"}
		for _, r := range feed.Kinds() {
			if but(r) {
				continue
			}
			gv := r.GroupVersion().String()
			if byVersion[gv] == nil {
				byVersion[gv] = &metav1.APIResourceList{GroupVersion: gv}
				d.Resources = append(d.Resources, byVersion[gv])
			}
			byVersion[gv].APIResources = append(byVersion[gv].APIResources, metav1.APIResource{Name: r.Resource})
		}
		return api
	}
	logged.take()
	all := offer(func(schema.GroupVersionResource) bool { return false })
	without, err := served(t.Context(), all, nil, nil)
	require.NoError(t, err)
	require.Empty(t, without)
	require.Len(t, all.Actions(), 5, "each version is asked for once")
	const line = `level=INFO msg="The API server does not serve resource.k8s.io/v1: pods with resource claims stay pending"`
	require.NotContains(t, logged.take(), line)
	without, err = served(t.Context(), offer(func(r schema.GroupVersionResource) bool { return r.Resource == "deviceclasses" }), nil, nil)
	require.NoError(t, err)
	require.Len(t, without, 1)
	require.Equal(t, "deviceclasses", without[0].Resource)
	require.Contains(t, logged.take(), line)
	without, err = served(t.Context(), offer(func(r schema.GroupVersionResource) bool { return r.Resource == "devicetaintrules" }), nil, nil)
	require.NoError(t, err)
	require.Len(t, without, 1)
	require.NotContains(t, logged.take(), line, "servers before v1.37")
	_, err = served(t.Context(), all, feed.GroupKinds(&podgroup.Gates{}), nil)
	require.EqualError(t, err, "the API server does not serve podgroups.scheduling.k8s.io in version scheduling.k8s.io/v1beta1, which the feature gates of groups need: it has feature gates of these names, and --runtime-config turns the version on")
	_, err = served(t.Context(), offer(func(r schema.GroupVersionResource) bool { return r.Resource == "csinodes" }), nil, nil)
	require.EqualError(t, err, "the API server does not serve csinodes.storage.k8s.io in version storage.k8s.io/v1: this scheduler needs Kubernetes 1.34 or later, and the server is v1.30.0")
}

// What the server has refused to say is an error; a server that fails is asked again.
func TestServedErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []int{http.StatusServiceUnavailable, http.StatusOK, http.StatusForbidden}
		api := &apitest.API{Answer: func(w http.ResponseWriter, _ *http.Request) bool {
			code := answers[0]
			answers = answers[1:]
			if code == http.StatusOK {
				return false
			}
			apitest.Refuse(w, code, http.StatusText(code))
			return true
		}}
		client, err := kubernetes.NewForConfig(configure(t, api).REST)
		require.NoError(t, err)
		_, err = served(t.Context(), client, nil, nil)
		require.ErrorContains(t, err, "asking for the resources of apps/v1: ")
		require.Empty(t, answers)
	})
}

// A refusal is an answer. A server that fails, or asks to come back later, has not answered: it is asked again after 500 ms, doubling to
// 10 s, each longer by a random part of up to a half.
func TestAnswered(t *testing.T) {
	code := func(code int32) error { return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code}} }
	type test struct {
		name    string
		err     error
		answers bool
	}
	testkit.Run(t, []test{
		{"success", nil, true},
		{"403", code(403), true},
		{"428", code(428), true},
		{"429", code(429), false},
		{"430", code(430), true},
		{"499", code(499), true},
		{"500", code(500), false},
		{"501", code(501), false},
		{"a lost connection", errors.New("x"), false},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			logged.take()
			over := errors.New("over")
			ctx, end := context.WithCancelCause(t.Context())
			var asked []time.Time
			var told []error
			got := answered(ctx, func(err error) { told = append(told, err) }, func() error {
				if asked = append(asked, time.Now()); len(asked) == 8 {
					end(over)
				}
				return x.err
			})
			end(nil)
			if x.answers {
				require.Equal(t, x.err, got)
				require.Len(t, asked, 1)
				require.Empty(t, told)
				return
			}
			require.ErrorIs(t, got, x.err)
			require.ErrorIs(t, got, over, "it would have been asked again")
			require.Equal(t, slices.Repeat([]error{x.err}, 8), told)
			for k, least := range []time.Duration{500, 1000, 2000, 4000, 8000, 10000, 10000} {
				pause := asked[k+1].Sub(asked[k])
				require.GreaterOrEqual(t, pause, least*time.Millisecond)
				require.Less(t, pause, least*time.Millisecond*3/2)
			}
			require.Equal(t, 8, count(logged.take(), `level=ERROR msg="The API server does not answer; asking again" err=`))
		})
	})
}

// Wait returns when all tasks have ended, or when the context ends. Tasks that a task started count too, and several may wait.
func TestTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all tasks
		require.Zero(t, all.wait(t.Context()))
		first, second := make(chan bool), make(chan bool)
		all.start(func() {
			<-first
			all.start(func() { <-second })
		})
		ctx, cancel := context.WithCancel(t.Context())
		short, long := make(chan int, 1), make(chan int, 2)
		go func() { short <- all.wait(ctx) }()
		for range 2 {
			go func() { long <- all.wait(t.Context()) }()
		}
		synctest.Wait()
		require.Empty(t, short)
		close(first)
		synctest.Wait()
		require.Empty(t, short)
		cancel()
		require.Equal(t, 1, <-short)
		require.Empty(t, long)
		require.Equal(t, 1, all.wait(ctx), "the context has ended")
		close(second)
		require.Zero(t, <-long)
		require.Zero(t, <-long)
		require.Zero(t, all.wait(t.Context()))
	})
}
