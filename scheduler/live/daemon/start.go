package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/podberth/podberth/scheduler/live/feed"
	"github.com/podberth/podberth/scheduler/live/lead"
)

// The pauses before an API server that did not answer is asked again double from the first to the last.
const firstAnswerPause, lastAnswerPause = 500 * time.Millisecond, 10 * time.Second

// answered asks until the API server answers, or until the context ends. A refusal is an answer. unanswered gets each error; nil gets none.
func answered(ctx context.Context, unanswered func(error), ask func() error) error {
	for pause := firstAnswerPause; ; pause = min(2*pause, lastAnswerPause) {
		err := ask()
		var status apierrors.APIStatus
		if err == nil || errors.As(err, &status) && status.Status().Code < 500 && status.Status().Code != 429 {
			return err
		}
		klog.ErrorS(err, "The API server does not answer; asking again")
		if unanswered != nil {
			unanswered(err)
		}
		select {
		case <-time.After(wait.Jitter(pause, 0.5)):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// served asks which of the feed's resources the API server serves. It returns those that may be left out and are not served:
// the resources of dynamic resource allocation. Any other that is missing is an error. more are resources of groups of pods.
func served(ctx context.Context, api kubernetes.Interface, more []schema.GroupVersionResource, unanswered func(error)) (without []schema.GroupVersionResource, err error) {
	byVersion := map[schema.GroupVersion][]string{}
	for _, r := range slices.Concat(feed.Kinds(), more) {
		gv := r.GroupVersion()
		have, asked := byVersion[gv]
		if !asked {
			err := answered(ctx, unanswered, func() error {
				list, err := discovery.ToDiscoveryInterfaceWithContext(api.Discovery()).ServerResourcesForGroupVersionWithContext(ctx, gv.String())
				if apierrors.IsNotFound(err) {
					return nil
				}
				if err == nil {
					for _, x := range list.APIResources {
						have = append(have, x.Name)
					}
				}
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("asking for the resources of %s: %w", gv, err)
			}
			byVersion[gv] = have
		}
		if slices.Contains(have, r.Resource) {
			continue
		}
		if slices.Contains(more, r) {
			return nil, fmt.Errorf("the API server does not serve %s in version %s, which the feature gates of groups need: it has feature gates of these names, and --runtime-config turns the version on", r.GroupResource(), gv)
		}
		if r.Group != "resource.k8s.io" {
			return nil, fmt.Errorf("the API server does not serve %s in version %s: this scheduler needs Kubernetes 1.34 or later%s", r.GroupResource(), gv, versionOf(ctx, api))
		}
		without = append(without, r)
	}
	// devicetaintrules are served in v1 since v1.37
	if slices.ContainsFunc(without, func(r schema.GroupVersionResource) bool { return r.Resource != "devicetaintrules" }) {
		klog.InfoS("The API server does not serve resource.k8s.io/v1: pods with resource claims stay pending")
	}
	return without, nil
}

// versionOf returns a part of a sentence that names the server's version, "" if the server does not say.
func versionOf(ctx context.Context, api kubernetes.Interface) string {
	v, err := discovery.ToDiscoveryInterfaceWithContext(api.Discovery()).ServerVersionWithContext(ctx)
	if err != nil {
		return ""
	}
	return ", and the server is " + v.GitVersion
}

// needs returns what the account must be allowed to do. groups are resources of groups of pods.
func needs(without, groups []schema.GroupVersionResource, lease *lead.Lease) (out []authorizationv1.ResourceAttributes) {
	add := func(group, resource string, verbs ...string) {
		resource, sub, _ := strings.Cut(resource, "/")
		for _, verb := range verbs {
			out = append(out, authorizationv1.ResourceAttributes{Group: group, Resource: resource, Subresource: sub, Verb: verb})
		}
	}
	devices := true
	for _, r := range feed.Kinds() {
		if slices.Contains(without, r) {
			devices = devices && r.Group != "resource.k8s.io"
			continue
		}
		add(r.Group, r.Resource, "list", "watch")
	}
	for _, r := range groups {
		add(r.Group, r.Resource, "list", "watch")
		if r.Resource == "podgroups" {
			add(r.Group, "podgroups/status", "patch")
		}
	}
	add("", "pods", "get", "delete")
	add("", "pods/binding", "create")
	add("", "pods/status", "patch")
	add("", "persistentvolumes", "update")
	add("", "persistentvolumeclaims", "update")
	add("events.k8s.io", "events", "create", "patch")
	if devices {
		add("resource.k8s.io", "resourceclaims", "create", "update", "delete")
		add("resource.k8s.io", "resourceclaims/status", "update", "patch")
		add("resource.k8s.io", "resourceclaims/binding", "update", "patch") // v1.37 asks for it where a status has an allocation or reservations
	}
	if lease != nil {
		in := func(group, resource, name, verb string) {
			out = append(out, authorizationv1.ResourceAttributes{Group: group, Resource: resource, Namespace: lease.Namespace, Name: name, Verb: verb})
		}
		in("coordination.k8s.io", "leases", "", "create")
		in("coordination.k8s.io", "leases", lease.Name, "get")
		in("coordination.k8s.io", "leases", lease.Name, "update")
		in("", "events", "", "create")
	}
	return out
}

// reviewers is how many reviews are asked for at the same time.
const reviewers = 8

// checkPermissions asks the API server about each need. The error has one line for each that is refused.
func checkPermissions(ctx context.Context, api kubernetes.Interface, needs []authorizationv1.ResourceAttributes, unanswered func(error)) error {
	refused := make([]error, len(needs))
	turns := make(chan struct{}, reviewers)
	var all sync.WaitGroup
	for k := range needs {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			refused[k] = review(ctx, api, needs[k], unanswered)
		})
	}
	all.Wait()
	return errors.Join(refused...)
}

func review(ctx context.Context, api kubernetes.Interface, need authorizationv1.ResourceAttributes, unanswered func(error)) error {
	question := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &need}}
	var answer *authorizationv1.SelfSubjectAccessReview
	err := answered(ctx, unanswered, func() (err error) {
		answer, err = api.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, question, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("asking whether the account may %s: %w", sentence(need), err)
	}
	if !answer.Status.Allowed {
		return fmt.Errorf("the account may not %s", sentence(need))
	}
	return nil
}

// sentence says what a need is, as "list csinodes.storage.k8s.io" or "update leases.coordination.k8s.io x in namespace y".
func sentence(need authorizationv1.ResourceAttributes) string {
	resource := schema.GroupResource{Group: need.Group, Resource: need.Resource}.String()
	if need.Subresource != "" {
		resource = need.Resource + "/" + need.Subresource
		if need.Group != "" {
			resource = need.Resource + "." + need.Group + "/" + need.Subresource
		}
	}
	out := need.Verb + " " + resource
	if need.Name != "" {
		out += " " + need.Name
	}
	if need.Namespace != "" {
		out += " in namespace " + need.Namespace
	}
	return out
}
