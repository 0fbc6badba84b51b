package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/queue"
)

// A pod whose claim names a class that is not there waits for the class: its arrival and its change wake the pod, and a class that
// goes is missing for the next pod. A PriorityClass wakes no pod.
func TestStorageClassEvents(t *testing.T) {
	name, wait := "fast", storagev1.VolumeBindingWaitForFirstConsumer
	claim := func(name string) *v1.PersistentVolumeClaim {
		c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "uid-of-claim"}}
		c.Spec.StorageClassName, c.Spec.AccessModes = new(string), []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
		*c.Spec.StorageClassName = "fast"
		c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: quantity.MustParse("1Gi")}
		return c
	}
	using := func(name string) *v1.Pod {
		p := pod(name)
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
		return p
	}
	class := func(zones ...string) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "csi.example.com", VolumeBindingMode: &wait,
			AllowedTopologies: []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: "zone", Values: zones}}}}}
	}
	nodes := three()
	for _, n := range nodes {
		n.Labels = map[string]string{"zone": "a"}
	}
	r := newRig(t, Options{}, nodes)
	r.s.Set(nil, claim("a"))
	r.s.Set(nil, claim("b"))
	a := using("a")
	r.add(a)
	require.True(t, r.step())
	require.Equal(t, Rejected, r.last().Outcome, r.last().Message)
	require.Equal(t, queue.Unschedulable, r.place(a))

	high := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 5}
	changed := high.DeepCopy()
	changed.Description = "changed"
	r.s.Set(nil, high)
	r.s.Set(high, changed)
	r.s.Remove(changed)
	require.Equal(t, queue.Unschedulable, r.place(a))

	fast := class("b")
	r.s.Set(nil, fast)
	require.Equal(t, queue.Backoff, r.place(a))
	r.clock.advance(time.Minute)
	r.s.Tick()
	require.True(t, r.step())
	require.Equal(t, queue.Unschedulable, r.place(a), r.last().Message)
	require.Contains(t, r.last().Message, "3 node(s) didn't find available persistent volumes to bind")

	same := class("b")
	same.ReclaimPolicy = new(v1.PersistentVolumeReclaimPolicy)
	r.s.Set(fast, same)
	require.Equal(t, queue.Unschedulable, r.place(a), "the topologies stay")
	wider := class("a", "b")
	r.s.Set(same, wider)
	require.Equal(t, queue.Backoff, r.place(a))
	r.clock.advance(time.Minute)
	r.s.Tick()
	require.True(t, r.step())
	require.Equal(t, Scheduled, r.last().Outcome, r.last().Message)

	r.s.Remove(wider)
	b := using("b")
	r.add(b)
	require.True(t, r.step())
	require.Equal(t, Rejected, r.last().Outcome)
	require.Contains(t, r.last().Message, "pod has unbound immediate PersistentVolumeClaims")
	require.Empty(t, r.errs)
}
