package rollout

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/klog/v2"
	controller "k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/utils/clock"

	"github.com/podberth/podberth/conformance/apiserver"
)

var (
	count = flag.Int("plays", 0, "clusters to play; 0: one small cluster and three deadlocks")
	nodes = flag.Int("nodes", 30, "nodes of each cluster to play, with -plays")
	from  = flag.Int64("from", 1, "seed of the first cluster to play")
	width = flag.Int("parallel-plays", 2, "clusters that are played at the same time")
	poll  = flag.Duration("poll", 0, "how long a wave may take longer than planned; 0: 5s with -plays, a minute without")
)

// limit is how long a wave may take longer than planned. kubectl drain asks again every 5 seconds. The small run shares its
// processors with other tests.
func limit() time.Duration {
	switch {
	case *poll > 0:
		return *poll
	case *count > 0:
		return 5 * time.Second
	}
	return time.Minute
}

func TestMain(m *testing.M) {
	flag.Parse()
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// start runs a kube-apiserver and the disruption controller until the end of the test.
func start(t *testing.T) kubernetes.Interface {
	t.Helper()
	server := apiserver.Start(t)
	config := rest.CopyConfig(server.Config)
	config.QPS, config.Burst = -1, -1
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	scales, err := scale.NewForConfig(config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(client.Discovery()))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactory(client, 0)
	c := controller.NewDisruptionControllerInternal(ctx, factory.Core().V1().Pods(), factory.Policy().V1().PodDisruptionBudgets(),
		factory.Core().V1().ReplicationControllers(), factory.Apps().V1().ReplicaSets(), factory.Apps().V1().Deployments(),
		factory.Apps().V1().StatefulSets(), client, mapper, scales, client.Discovery(), clock.RealClock{}, 2*time.Minute)
	factory.Start(ctx.Done())
	stopped := make(chan struct{})
	go func() {
		c.Run(ctx, 1)
		close(stopped)
	}()
	t.Cleanup(func() {
		cancel()
		<-stopped
		factory.Shutdown()
	})
	return client
}
