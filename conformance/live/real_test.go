package live

import (
	"context"
	"sync"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	kubeconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	kubescheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

var registerMetrics sync.Once

// kube starts kube-scheduler itself, and returns a function that stops it. The witnesses are plugins of
// every profile.
func (w *world) kube(witnesses ...*witness) (stop func()) {
	w.t.Helper()
	registerMetrics.Do(metrics.Register)
	decoded, _, err := kubescheme.Codecs.UniversalDecoder().Decode([]byte(w.document), nil, nil)
	require.NoError(w.t, err)
	c := decoded.(*kubeconfig.KubeSchedulerConfiguration)
	registry := frameworkruntime.Registry{}
	for _, x := range witnesses {
		registry[x.Name()] = x.create
		for k := range c.Profiles {
			c.Profiles[k].Plugins.Reserve.Enabled = append(c.Profiles[k].Plugins.Reserve.Enabled, kubeconfig.Plugin{Name: x.Name()})
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	client := kubernetes.NewForConfigOrDie(rest.AddUserAgent(w.link.config(), "scheduler"))
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	require.NoError(w.t, broadcaster.StartRecordingToSinkWithContext(ctx))
	factory := scheduler.NewInformerFactory(client, 0, nil)
	s, err := scheduler.New(ctx, client, factory, nil, profile.NewRecorderFactory(broadcaster), scheduler.WithProfiles(c.Profiles...), scheduler.WithExtenders(c.Extenders...), scheduler.WithFrameworkOutOfTreeRegistry(registry))
	require.NoError(w.t, err)
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)
	require.NoError(w.t, s.WaitForHandlersSync(ctx))
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	gone := w.viewed(viewOfKube(s, factory))
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		gone()
		cancel()
		<-ended
		factory.Shutdown()
		broadcaster.Shutdown()
	}
	w.t.Cleanup(stop)
	return stop
}
