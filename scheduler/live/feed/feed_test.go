package feed_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/podberth/podberth/scheduler/live/feed"
)

// sink counts what it is told.
type sink struct {
	mu                    sync.Mutex
	pods, nodes, othersIn int
}

func (s *sink) count(n *int, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n += by
}

func (s *sink) AddPod(*v1.Pod)           { s.count(&s.pods, 1) }
func (s *sink) UpdatePod(_, _ *v1.Pod)   {}
func (s *sink) DeletePod(*v1.Pod)        { s.count(&s.pods, -1) }
func (s *sink) AddNode(*v1.Node)         { s.count(&s.nodes, 1) }
func (s *sink) UpdateNode(_, _ *v1.Node) {}
func (s *sink) DeleteNode(*v1.Node)      { s.count(&s.nodes, -1) }
func (s *sink) Set(old, _ metav1.Object) { s.count(&s.othersIn, 1) }
func (s *sink) Remove(metav1.Object)     { s.count(&s.othersIn, -1) }
func (s *sink) all() (pods, nodes, o int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods, s.nodes, s.othersIn
}

// Wait returns after every object of the first lists was reported; Reported and Pod then have them.
func TestFeed(t *testing.T) {
	managed := []metav1.ManagedFieldsEntry{{Manager: "m"}}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, ResourceVersion: "1", ManagedFields: managed}
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ManagedFields: managed}}
	api := fake.NewClientset(pod, &v1.Node{ObjectMeta: meta("n1")}, &v1.Namespace{ObjectMeta: meta("default")}, &v1.PersistentVolume{ObjectMeta: meta("pv")})
	f, err := feed.New(api, feed.Options{Without: []schema.GroupVersionResource{{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"}}})
	require.NoError(t, err)
	var s sink
	require.NoError(t, f.Connect(&s))
	require.ErrorContains(t, f.Waiting(), "waiting for the first list of nodes, namespaces, ")
	require.NotContains(t, f.Waiting().Error(), "resourceslices")
	ctx, cancel := context.WithCancel(t.Context())
	f.Start(ctx)
	require.NoError(t, f.Wait(ctx))
	require.NoError(t, f.Waiting())
	pods, nodes, others := s.all()
	require.Equal(t, []int{1, 1, 2}, []int{pods, nodes, others})
	require.Equal(t, "pv", f.Reported("persistentvolumes", "", "pv").GetName())
	require.Nil(t, f.Reported("persistentvolumes", "", "unknown"))
	require.Nil(t, f.Reported("unknown", "", "pv"))
	require.Empty(t, f.Pod("default", "web").ManagedFields)
	require.Empty(t, f.Reported("nodes", "", "n1").GetManagedFields())
	require.Equal(t, managed, f.Reported("persistentvolumes", "", "pv").GetManagedFields(), "a volume is written back whole")
	require.Nil(t, f.Pod("default", "unknown"))

	changed := f.Changed()
	require.NoError(t, api.CoreV1().Pods("default").Delete(ctx, "web", metav1.DeleteOptions{}))
	<-changed
	pods, _, _ = s.all()
	require.Zero(t, pods)
	cancel()
	f.Stop()
}

// Unbound has the pods without a node, those of every scheduler and those that end too, and follows the informer.
func TestUnbound(t *testing.T) {
	makePod := func(namespace, name, node string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1.PodSpec{NodeName: node, SchedulerName: name}}
	}
	ending := makePod("b", "ends", "")
	ending.DeletionTimestamp = &metav1.Time{}
	api := fake.NewClientset(makePod("a", "waits", ""), makePod("a", "bound", "n1"), makePod("b", "waits", ""), ending)
	f, err := feed.New(api, feed.Options{})
	require.NoError(t, err)
	require.NoError(t, f.Connect(&sink{}))
	require.Empty(t, f.Unbound(), "before the first list")
	ctx, cancel := context.WithCancel(t.Context())
	f.Start(ctx)
	require.NoError(t, f.Wait(ctx))
	names := func() (out []string) {
		for _, p := range f.Unbound() {
			out = append(out, p.Namespace+"/"+p.Name)
		}
		return out
	}
	require.ElementsMatch(t, []string{"a/waits", "b/waits", "b/ends"}, names())
	changed := f.Changed()
	_, err = api.CoreV1().Pods("a").Update(ctx, makePod("a", "waits", "n1"), metav1.UpdateOptions{})
	require.NoError(t, err)
	<-changed
	require.ElementsMatch(t, []string{"b/waits", "b/ends"}, names())
	cancel()
	f.Stop()
}

// A wait that is cancelled names what is missing.
func TestWaitCancelled(t *testing.T) {
	f, err := feed.New(fake.NewClientset(), feed.Options{})
	require.NoError(t, err)
	require.NoError(t, f.Connect(&sink{}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, f.Wait(ctx), "waiting for the first list of nodes")
}
