package podinfo_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fmt"
	"github.com/podberth/podberth/internal/podinfo"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAffinity(t *testing.T) {
	require.Nil(t, podinfo.NodeAffinity(&v1.Pod{}))
	affinity, anti := podinfo.PodAffinity(&v1.Pod{})
	require.Nil(t, affinity)
	require.Nil(t, anti)
	a := &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}, PodAffinity: &v1.PodAffinity{}, PodAntiAffinity: &v1.PodAntiAffinity{}}
	pod := &v1.Pod{Spec: v1.PodSpec{Affinity: a}}
	require.Same(t, a.NodeAffinity, podinfo.NodeAffinity(pod))
	affinity, anti = podinfo.PodAffinity(pod)
	require.Same(t, a.PodAffinity, affinity)
	require.Same(t, a.PodAntiAffinity, anti)
}

func TestOnlyNode(t *testing.T) {
	require.Equal(t, []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}}}},
		podinfo.OnlyNode("n1").NodeSelectorTerms)
}

// The claim of an ephemeral volume is named after the pod and the volume, belongs to the pod and is pending. Other volumes
// make no claim.
func TestEphemeralClaims(t *testing.T) {
	spec := v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}}
	template := &v1.PersistentVolumeClaimTemplate{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "b"}}, Spec: spec}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train", UID: "u1"}, Spec: v1.PodSpec{Volumes: []v1.Volume{
		{Name: "config"},
		{Name: "empty", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}},
		{Name: "data", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: template}}},
		{Name: "logs", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{}}}},
	}}}
	claims := podinfo.EphemeralClaims(pod)
	require.Len(t, claims, 2)
	controller := true
	require.Equal(t, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train-data", UID: "ml/train-data", Annotations: map[string]string{"a": "b"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "train", UID: "u1", Controller: &controller}}},
		Spec: spec, Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending},
	}, claims[0])
	require.Equal(t, "train-logs", claims[1].Name)
	require.Empty(t, podinfo.EphemeralClaims(&v1.Pod{}))
}

// More important is first the pod of higher priority, then the pod that started earlier. A pod that has not started counts as
// started now.
func TestCompareImportance(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pod := func(priority int32, started time.Duration) *v1.Pod {
		at := metav1.NewTime(now.Add(started))
		return &v1.Pod{Spec: v1.PodSpec{Priority: &priority}, Status: v1.PodStatus{StartTime: &at}}
	}
	waiting := &v1.Pod{}
	order := []*v1.Pod{pod(10, 0), pod(1, -time.Hour), pod(1, -time.Minute), pod(0, -time.Second), waiting, pod(0, time.Second), pod(-1, -time.Hour)}
	for i, a := range order {
		for k, b := range order {
			c := podinfo.CompareImportance(a, b, now)
			require.Equal(t, []bool{i < k, i == k, i > k}, []bool{c < 0, c == 0, c > 0}, "%d and %d", i, k)
		}
	}
	require.Zero(t, podinfo.CompareImportance(waiting, pod(0, 0), now))
	require.Equal(t, now, podinfo.Start(waiting, now))
}

func TestDefaults(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	require.EqualValues(t, "default/web", podinfo.UID(pod))
	require.Equal(t, "default-scheduler", podinfo.SchedulerName(pod))
	pod.UID, pod.Spec.SchedulerName = "u1", "mine"
	require.EqualValues(t, "u1", podinfo.UID(pod))
	require.Equal(t, "mine", podinfo.SchedulerName(pod))
}

// An object that somebody wrote gets the status of a ready pod; what a kubelet reported stays.
func TestObserved(t *testing.T) {
	scheduled := v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue}
	written := &v1.Pod{Status: v1.PodStatus{Conditions: []v1.PodCondition{scheduled}}}
	before := written.DeepCopy()
	got := podinfo.Observed(written)
	require.Equal(t, v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{scheduled, {Type: v1.PodReady, Status: v1.ConditionTrue}}}, got.Status)
	require.Equal(t, before, written, "the argument stays")
	unready := &v1.Pod{Status: v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}}}}
	require.Same(t, unready, podinfo.Observed(unready))
}

// A constraint without minDomains asks for one domain.
func TestMinDomains(t *testing.T) {
	three := int32(3)
	require.EqualValues(t, 1, podinfo.MinDomains(&v1.TopologySpreadConstraint{}))
	require.EqualValues(t, 3, podinfo.MinDomains(&v1.TopologySpreadConstraint{MinDomains: &three}))
	require.True(t, podinfo.TooFewDomains(2, 3))
	require.False(t, podinfo.TooFewDomains(3, 3))
}

// The weight counts requests, ports, requirements and tolerations of all containers, and begins to rise after 64 of them.
func TestWeight(t *testing.T) {
	many := func(n int) v1.ResourceList {
		list := v1.ResourceList{}
		for k := range n {
			list[v1.ResourceName(fmt.Sprint("example.com/r", k))] = resource.MustParse("1")
		}
		return list
	}
	with := func(requests, limits, start int) *v1.Pod {
		p := &v1.Pod{}
		p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: many(requests), Limits: many(limits)}}}
		p.Spec.InitContainers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: many(start)}}}
		return p
	}
	require.Equal(t, 1, podinfo.Weight(with(64, 0, 0)))
	require.Equal(t, 2, podinfo.Weight(with(72, 0, 0)))
	require.Equal(t, 2, podinfo.Weight(with(40, 0, 32)), "init containers count")
	require.Equal(t, 1, podinfo.Weight(with(8, 100, 8)), "limits do not")
}

// Observed does not write behind the conditions of the pod.
func TestObservedSharesNothing(t *testing.T) {
	p := &v1.Pod{}
	p.Status.Conditions = append(make([]v1.PodCondition, 0, 2), v1.PodCondition{Type: v1.PodScheduled})
	require.Len(t, podinfo.Observed(p).Status.Conditions, 2)
	require.Empty(t, p.Status.Conditions[:2][1].Type)
}
