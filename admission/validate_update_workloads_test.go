package admission

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Selectors of controllers, and all of a StatefulSet but a few fields, stay as they are. Fields that are left to their defaults do not differ
// from the defaults.
func TestWorkloadUpdates(t *testing.T) {
	selector := func(app string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	}
	a, b := selector("a"), selector("b")
	for name, pair := range map[string][2]metav1.Object{
		"Deployment": {&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: a}}, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: b}}},
		"ReplicaSet": {&appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Selector: a}}, &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Selector: b}}},
		"DaemonSet":  {&appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Selector: a}}, &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Selector: b}}},
	} {
		errs := validateWorkloadUpdate(pair[0], pair[1])
		require.Len(t, errs, 1, name)
		require.Equal(t, "spec.selector", errs[0].Field)
		require.Contains(t, errs[0].Error(), "field is immutable")
		require.Empty(t, validateWorkloadUpdate(pair[0], pair[0]), name)
		require.Empty(t, validateWorkloadUpdate(pair[0], &v1.Pod{}), "another kind")
	}
	set := func(change func(s *appsv1.StatefulSet)) *appsv1.StatefulSet {
		s := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Selector: a, ServiceName: "s", VolumeClaimTemplates: []v1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}}}
		s.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
		change(s)
		return s
	}
	old := set(func(s *appsv1.StatefulSet) {
		s.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
		s.Spec.VolumeClaimTemplates[0].Spec.VolumeMode = new(v1.PersistentVolumeFilesystem)
		s.Spec.VolumeClaimTemplates[0].Status.Phase = v1.ClaimPending
	})
	for name, c := range map[string]struct {
		new     *appsv1.StatefulSet
		refused string // the field
	}{
		"as it is":  {set(func(*appsv1.StatefulSet) {}), ""},
		"replicas":  {set(func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(3)); s.Spec.MinReadySeconds = 5 }), ""},
		"selector":  {set(func(s *appsv1.StatefulSet) { s.Spec.Selector = b }), "spec.selector"},
		"service":   {set(func(s *appsv1.StatefulSet) { s.Spec.ServiceName = "other" }), "spec.serviceName"},
		"policy":    {set(func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }), "spec.podManagementPolicy"},
		"templates": {set(func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates = nil }), "spec.volumeClaimTemplates"},
		"size": {set(func(s *appsv1.StatefulSet) {
			s.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("2Gi")}
		}), "spec.volumeClaimTemplates"},
	} {
		errs := validateWorkloadUpdate(c.new, old)
		require.Equal(t, c.refused != "", len(errs) > 0, name)
		if c.refused != "" {
			require.Equal(t, c.refused, errs[0].Field)
			require.Contains(t, errs[0].Error(), ": field is immutable", name)
		}
	}
}
