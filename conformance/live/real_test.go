package live

import (
	"context"
	"sync"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

var registerMetrics sync.Once

// kube starts kube-scheduler itself with its default configuration, and returns a function that stops it.
func (w *world) kube() (stop func()) {
	w.t.Helper()
	registerMetrics.Do(metrics.Register)
	c, err := latest.Default()
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	client := kubernetes.NewForConfigOrDie(rest.AddUserAgent(w.link.config(), "scheduler"))
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	require.NoError(w.t, broadcaster.StartRecordingToSinkWithContext(ctx))
	factory := scheduler.NewInformerFactory(client, 0)
	s, err := scheduler.New(ctx, client, factory, nil, profile.NewRecorderFactory(broadcaster), scheduler.WithProfiles(c.Profiles...))
	require.NoError(w.t, err)
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)
	require.NoError(w.t, s.WaitForHandlersSync(ctx))
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		<-ended
		factory.Shutdown()
		broadcaster.Shutdown()
	}
	w.t.Cleanup(stop)
	return stop
}
