package feed_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler/live/feed"
)

// Groups are reported as values of package podgroup, and only where they count.
func TestGroups(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: "1", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}}
	}
	group := &schedulingv1beta1.PodGroup{ObjectMeta: meta("g")}
	group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: 3}
	job := &schedulingv1alpha3.CompositePodGroup{ObjectMeta: meta("job")}
	job.Spec.SchedulingPolicy.Gang = &schedulingv1alpha3.CompositeGangSchedulingPolicy{MinGroupCount: 2}
	for _, gates := range []*podgroup.Gates{nil, {}, {Topology: true, Composites: true}} {
		f, err := feed.New(fake.NewClientset(group, job, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}), feed.Options{Groups: gates})
		require.NoError(t, err)
		require.NoError(t, f.Connect(&sink{}))
		ctx, cancel := context.WithCancel(t.Context())
		f.Start(ctx)
		require.NoError(t, f.Wait(ctx))
		g, _ := f.Reported("podgroups.scheduling.k8s.io", "default", "g").(*podgroup.Group)
		c, _ := f.Reported("compositepodgroups.scheduling.k8s.io", "default", "job").(*podgroup.Composite)
		require.Equal(t, gates != nil, g != nil)
		require.Equal(t, gates != nil && gates.Composites, c != nil)
		if g != nil {
			require.Equal(t, 3, g.Needs())
			require.Empty(t, g.ManagedFields)
		}
		if c != nil {
			require.Equal(t, 2, c.Needs())
		}
		cancel()
		f.Stop()
	}
	require.Nil(t, feed.GroupKinds(nil))
}
