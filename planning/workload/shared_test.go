package workload

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// A claim that is made shares nothing with the template of its volume.
func TestMadeClaimsShareNothing(t *testing.T) {
	p := testkit.Pod("p").Obj()
	p.Spec.Volumes = []v1.Volume{{Name: "s", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{
		Spec: v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}}}}}}}
	testkit.Unchanged(t, func() {
		made, err := Make(Objects{Pods: []*v1.Pod{p}}, Options{})
		require.NoError(t, err)
		made.Claims[0].Spec.AccessModes[0] = v1.ReadOnlyMany
	}, p)
}

// Two pods whose names and entries join to one name get claims of two names.
func TestNamesOfDeviceClaims(t *testing.T) {
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "t"}}
	with := func(name, entry string) *v1.Pod {
		p := testkit.Pod(name).Obj()
		p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: entry, ResourceClaimTemplateName: &template.Name}}
		return p
	}
	made, err := Make(Objects{Pods: []*v1.Pod{with("a", "b-c"), with("a-b", "c")}, ClaimTemplates: []*resourcev1.ResourceClaimTemplate{template}}, Options{})
	require.NoError(t, err)
	require.Len(t, made.ResourceClaims, 2)
	require.NotEqual(t, made.ResourceClaims[0].Name, made.ResourceClaims[1].Name)
}

// The indexes of an Indexed Job that are done are not made again, and do not count against the limit.
func TestDoneIndexesAreNotMade(t *testing.T) {
	j := job("j", new(int32(5)), new(int32(5)))
	j.Spec.CompletionMode, j.Status.CompletedIndexes = new(batchv1.IndexedCompletion), "0-3"
	made, err := Make(Objects{Jobs: []*batchv1.Job{j}}, Options{Limit: 1})
	require.NoError(t, err)
	require.Len(t, made.Pods, 1)
}

// A ReplicaSet has its own labels, its pods have their own, and the Deployment keeps its.
func TestLabelsOfAReplicaSet(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	d.Spec.Template.Labels = map[string]string{"app": "web"}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	testkit.Unchanged(t, func() {
		r := newReplicaSet(d, 1, nil, nil)
		require.Equal(t, r.Labels, r.Spec.Template.Labels)
		require.Equal(t, r.Labels, r.Spec.Selector.MatchLabels)
		r.Labels["only"] = "the ReplicaSet"
		require.Len(t, r.Spec.Template.Labels, 2)
		require.Len(t, r.Spec.Selector.MatchLabels, 2)
	}, d)
}
