package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/podberth/podberth/examples/live/feed"
	"github.com/podberth/podberth/examples/live/lead"
)

// sentences returns the needs as sentences, those of reading left out.
func sentences(needs []authorizationv1.ResourceAttributes) (out []string) {
	for _, n := range needs {
		if n.Verb != "list" && n.Verb != "watch" {
			out = append(out, sentence(n))
		}
	}
	return out
}

// The account needs to read every kind of the feed, and to write what a scheduler writes.
func TestNeeds(t *testing.T) {
	var devices []schema.GroupVersionResource
	reads := map[string]int{}
	for _, r := range feed.Kinds() {
		if r.Group == "resource.k8s.io" {
			devices = append(devices, r)
		}
	}
	for _, n := range needs(nil, nil) {
		if n.Verb == "list" || n.Verb == "watch" {
			reads[schema.GroupResource{Group: n.Group, Resource: n.Resource}.String()]++
		}
	}
	require.Len(t, reads, len(feed.Kinds()))
	for _, r := range feed.Kinds() {
		require.Equal(t, 2, reads[r.GroupResource().String()], r)
	}
	written := []string{
		"get pods", "delete pods", "create pods/binding", "patch pods/status", "update persistentvolumes", "update persistentvolumeclaims",
		"create events.events.k8s.io", "patch events.events.k8s.io",
	}
	claims := []string{
		"create resourceclaims.resource.k8s.io", "update resourceclaims.resource.k8s.io", "delete resourceclaims.resource.k8s.io",
		"update resourceclaims.resource.k8s.io/status", "update resourceclaims.resource.k8s.io/binding",
	}
	require.Equal(t, append(written, claims...), sentences(needs(nil, nil)))
	require.Equal(t, written, sentences(needs(devices, nil)), "a server without devices")
	require.Len(t, needs(devices, nil), 2*(len(feed.Kinds())-len(devices))+len(written))
	require.Equal(t, append(written,
		"create leases.coordination.k8s.io in namespace kube-system", "get leases.coordination.k8s.io l in namespace kube-system",
		"update leases.coordination.k8s.io l in namespace kube-system", "create events in namespace kube-system",
	), sentences(needs(devices, &lead.Lease{Namespace: "kube-system", Name: "l"})))
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
	require.NoError(t, checkPermissions(t.Context(), api, list))
	list[1].Verb, list[20].Verb = "delete", "watch"
	err := checkPermissions(t.Context(), api, list)
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
	without, err := served(t.Context(), offer(func(schema.GroupVersionResource) bool { return false }))
	require.NoError(t, err)
	require.Empty(t, without)
	without, err = served(t.Context(), offer(func(r schema.GroupVersionResource) bool { return r.Resource == "deviceclasses" }))
	require.NoError(t, err)
	require.Len(t, without, 1)
	require.Equal(t, "deviceclasses", without[0].Resource)
	_, err = served(t.Context(), offer(func(r schema.GroupVersionResource) bool { return r.Resource == "csinodes" }))
	require.EqualError(t, err, "the API server does not serve csinodes.storage.k8s.io in version storage.k8s.io/v1: this scheduler needs Kubernetes 1.34 or later, and the server is v1.30.0")
}

// A refusal is an answer. A server that fails, or asks to come back later, has not answered.
func TestAnswered(t *testing.T) {
	refusal := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	require.NoError(t, answered(t.Context(), func() error { return nil }))
	require.ErrorIs(t, answered(t.Context(), func() error { return refusal }), refusal)
	for _, err := range []error{apierrors.NewInternalError(errors.New("x")), apierrors.NewTooManyRequests("x", 1), errors.New("x")} {
		over := errors.New("over")
		ctx, end := context.WithCancelCause(t.Context())
		asked := 0
		got := answered(ctx, func() error { asked++; end(over); return err })
		require.ErrorIs(t, got, err)
		require.ErrorIs(t, got, over, "it would have been asked again")
		require.Equal(t, 1, asked)
	}
}

// Wait returns when all tasks have ended, or when the context ends. Tasks that a task started count too.
func TestTasks(t *testing.T) {
	var all tasks
	require.Zero(t, all.wait(t.Context()))
	end := make(chan struct{})
	all.start(func() { all.start(func() { <-end }) })
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan int)
	go func() { over <- all.wait(ctx) }()
	cancel()
	require.Positive(t, <-over)
	close(end)
	require.Zero(t, all.wait(t.Context()))
}
