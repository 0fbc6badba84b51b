package descheduler_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	example "github.com/podberth/podberth/examples/informers"
	"github.com/podberth/podberth/placement"
)

// The View of examples/informers over the caches of client-go: the same objects, none of them changed.
func TestInformerCache(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	client := fake.NewClientset(node("n1", "z", 8), node("n2", "z", 8), pod("web", 1, "n1", "1"))
	factory := informers.NewSharedInformerFactory(client, 0)
	nodes, pods := factory.Core().V1().Nodes().Informer(), factory.Core().V1().Pods().Informer()
	require.NoError(t, pods.AddIndexers(cache.Indexers{"node": func(obj any) ([]string, error) { return []string{obj.(*v1.Pod).Spec.NodeName}, nil }}))
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())

	var guard example.Guard
	guard.Watch(nodes.GetIndexer(), pods.GetIndexer())
	view, err := example.New(nodes.GetIndexer(), pods.GetIndexer(), "node")
	require.NoError(t, err)
	plan, err := placement.New(placement.Rows(view), placement.DefaultProfile())
	require.NoError(t, err)
	require.Equal(t, "n2", plan.Decide(pod("next", 1, "", "1"), placement.Options{}).Node)
	require.NoError(t, guard.Check())

	stored, _, err := pods.GetIndexer().GetByKey("shop/web-1")
	require.NoError(t, err)
	for p := range view.Pods(0) {
		require.Same(t, stored, p)
	}
}
