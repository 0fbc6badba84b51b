package daemon

import (
	"context"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/scheduler/live/feed"
	"github.com/podberth/podberth/scheduler/live/shadow"
)

// Shadow judges the decisions of other schedulers in a real cluster. It writes nothing.
type Shadow struct {
	feed   *feed.Feed
	causes *causes // nil: not asked for
}

// NewShadow makes a shadow. report is called for each judged pod, one after the other.
func NewShadow(ctx context.Context, c Config, report func(shadow.Report)) (*Shadow, error) {
	api, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(c.REST), "shadow"))
	if err != nil {
		return nil, err
	}
	kinds := feed.GroupKinds(c.Groups)
	without, err := served(ctx, api, kinds, c.OnUnanswered)
	if err != nil {
		return nil, err
	}
	if c.Permissions {
		reads := slices.DeleteFunc(needs(without, kinds, nil), func(a authorizationv1.ResourceAttributes) bool { return a.Verb != "list" && a.Verb != "watch" })
		if err := checkPermissions(ctx, api, reads, c.OnUnanswered); err != nil {
			return nil, err
		}
	}
	f, err := feed.New(api, feed.Options{Groups: c.Groups, Without: without, OnError: func(resource string, err error) {
		klog.ErrorS(err, "Watching failed", "resource", resource)
	}})
	if err != nil {
		return nil, err
	}
	s, err := shadow.New(c.Configuration, cel.NewCompiler(), c.Groups, report, func(err error) { klog.ErrorS(err, "Object refused") })
	if err != nil {
		return nil, err
	}
	counter, err := newCauses(c, f.Unbound, s.View, true)
	if err != nil {
		return nil, err
	}
	return &Shadow{f, counter}, f.Connect(s)
}

// Run watches until the context ends.
func (s *Shadow) Run(ctx context.Context) error {
	defer s.feed.Stop()
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	s.feed.Start(work)
	if s.feed.Wait(ctx) == nil { // the end of the context is the only error
		s.causes.run(ctx)
	}
	<-ctx.Done()
	return nil
}

// Ready returns nil when every object of the first lists is known, and otherwise what the shadow waits for.
func (s *Shadow) Ready() error { return s.feed.Waiting() }

// Gauges does nothing: a shadow has no queue.
func (s *Shadow) Gauges() {}
