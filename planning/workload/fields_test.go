package workload

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
)

// A pod has a place of its Job's parallelism while it runs. With podReplacementPolicy Failed it has the place until it has ended.
func TestHolds(t *testing.T) {
	failed, either := ptr(batchv1.Failed), ptr(batchv1.TerminatingOrFailed)
	type test struct {
		name, why string
		policy    *batchv1.PodReplacementPolicy
		pod       *v1.Pod
		want      bool
	}
	testkit.Run(t, []test{
		{"running", "whatever the policy", either, pod("Job", "once", "x"), true},
		{"terminating", "another pod comes at once", nil, pod("Job", "once", "x", terminating), false},
		{"terminating, TerminatingOrFailed", "another pod comes at once", either, pod("Job", "once", "x", terminating), false},
		{"terminating, Failed", "another pod comes when this one has ended", failed, pod("Job", "once", "x", terminating), true},
		{"failed, Failed", "the pod has ended", failed, pod("Job", "once", "x", phase(v1.PodFailed)), false},
		{"terminating and ended, Failed", "the pod has ended", failed, pod("Job", "once", "x", terminating, phase(v1.PodSucceeded)), false},
	}, func(t *testing.T, c test) {
		j := job("once", nil, nil)
		j.Spec.PodReplacementPolicy = c.policy
		require.Equal(t, c.want, holds(j, c.pod))
	})
}

// Suspend false is as no Suspend. Failed indexes are not made again. Ranges of indexes end in a number.
func TestJobFields(t *testing.T) {
	j := indexed(job("once", ptr(int32(3)), ptr(int32(5))))
	j.Spec.Suspend, j.Status.FailedIndexes = ptr(false), ptr("1-2")
	made, err := Make(Objects{Jobs: []*batchv1.Job{j}}, Options{})
	require.NoError(t, err)
	require.Equal(t, "once-0-1; once-3-1; once-4-1", summary(made))
	_, err = parseIndexes("0-x")
	require.Error(t, err)
}

// A pod that names its controller with another UID belongs to an object that is gone.
func TestOwnerOfAnotherUID(t *testing.T) {
	for _, c := range []struct {
		uid  types.UID
		want int
	}{{"new", 1}, {"", 1}, {"old", 2}} {
		set, p := replicaSet("web", 2), pod("ReplicaSet", "web", "x")
		set.UID, p.OwnerReferences[0].UID = "new", c.uid
		made, err := Make(Objects{ReplicaSets: []*appsv1.ReplicaSet{set}, Pods: []*v1.Pod{p}}, Options{})
		require.NoError(t, err)
		require.Len(t, made.Pods, c.want, "UID %q", c.uid)
	}
}

// The number of collisions is part of the hash of a template.
func TestHashOfCollisions(t *testing.T) {
	x := template("web")
	none, zero, one := templateHash(&x, nil), templateHash(&x, ptr(int32(0))), templateHash(&x, ptr(int32(1)))
	require.NotEqual(t, none, zero)
	require.NotEqual(t, zero, one)
	require.NotEqual(t, none, one)
}

// The claims of a StatefulSet have the labels of its selector. They go with the set when the policy says so.
func TestClaimsOfStatefulSets(t *testing.T) {
	type policy = appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy
	for _, c := range []struct {
		policy *policy
		owners int
	}{
		{nil, 0}, {&policy{}, 0}, {&policy{WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType}, 0},
		{&policy{WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}, 1},
	} {
		s := statefulSet("db", 1, "")
		s.Spec.PersistentVolumeClaimRetentionPolicy = c.policy
		made, err := Make(Objects{StatefulSets: []*appsv1.StatefulSet{s}}, Options{})
		require.NoError(t, err)
		require.Equal(t, s.Spec.Selector.MatchLabels, made.Claims[0].Labels)
		require.Len(t, made.Claims[0].OwnerReferences, c.owners)
		s.Spec.Selector = nil
		made, err = Make(Objects{StatefulSets: []*appsv1.StatefulSet{s}}, Options{})
		require.NoError(t, err)
		require.Empty(t, made.Claims[0].Labels)
	}
}

// A pod without a controller is adopted once, and only by a controller whose whole selector matches the pod.
func TestAdoption(t *testing.T) {
	first, second, picky := replicaSet("web", 1), replicaSet("web", 1), replicaSet("web", 1)
	second.Name = "web-second"
	picky.Spec.Selector = &metav1.LabelSelector{
		MatchLabels:      map[string]string{"app": "web"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpExists}},
	}
	picky.Spec.Template.Labels["tier"] = "front"
	type test struct {
		name, why string
		sets      []*appsv1.ReplicaSet
		want      string
	}
	testkit.Run(t, []test{
		{"one set", "the pod is its replica", []*appsv1.ReplicaSet{first}, ""},
		{"two sets", "the pod is a replica of the first", []*appsv1.ReplicaSet{first, second}, "web-second-1"},
		{"an expression", "the pod has no tier", []*appsv1.ReplicaSet{picky}, "web-1"},
	}, func(t *testing.T, c test) {
		made, err := Make(Objects{ReplicaSets: c.sets, Pods: []*v1.Pod{pod("", "web", "bare")}}, Options{})
		require.NoError(t, err)
		require.Equal(t, c.want, summary(made))
	})
}
