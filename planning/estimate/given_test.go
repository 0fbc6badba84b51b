package estimate

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// The list of filters belongs to the caller, who may write into it afterwards.
func TestFiltersAreTheCallers(t *testing.T) {
	s, err := cluster.New(objects(testkit.Node("a").Capacity("cpu=4,pods=9")))
	require.NoError(t, err)
	profile := placement.DefaultProfile()
	e, err := New(Input{Snapshot: s, Profile: profile})
	require.NoError(t, err)
	clear(profile.Filters)
	counts, err := e.PerNode(Question{Worker: testkit.Pod("w").Labels("app=w").Obj(), Leader: testkit.Pod("l").RequireApart(host, "app=w").Obj()})
	require.NoError(t, err)
	require.Equal(t, []Count{{Node: "a", Alone: 9, Leader: true}}, counts)
}

// Amounts beyond an int64 are pointers inside of a quantity: what is requested must not be added to those that Free returned.
func TestFreeAmountsStay(t *testing.T) {
	o := objects(testkit.Node("a").Capacity("cpu=4,memory=8Gi,pods=9"))
	o.Pods = []*v1.Pod{testkit.Pod("p").Request("memory=1Gi").On("a").Obj()}
	e := newEstimator(t, o)
	free := v1.ResourceList{v1.ResourceMemory: resource.MustParse("100000000000000000001")}
	for range 2 {
		_, err := e.PerNode(Question{Worker: testkit.Pod("w").Request("memory=1Gi").Obj(), Free: func(string) v1.ResourceList { return free }})
		require.NoError(t, err)
	}
	require.Zero(t, free.Memory().Cmp(resource.MustParse("100000000000000000001")))
}

// A pod whose ephemeral claim was made, and is bound, can go where its volume is. One that the controller has still to serve gets a new claim.
func TestClaimOfThePodIsThere(t *testing.T) {
	o := objects(testkit.Node("a").Zone("z1").Capacity("cpu=4,pods=9"), testkit.Node("b").Zone("z2").Capacity("cpu=4,pods=9"))
	pod := withDisk(testkit.Pod("web").Obj())
	pod.UID = "web"
	controller := true
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "web-data", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web", UID: "web", Controller: &controller}}},
		Spec: v1.PersistentVolumeClaimSpec{VolumeName: "v"}, Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound},
	}
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: v1.PersistentVolumeSpec{
		ClaimRef: &v1.ObjectReference{Namespace: pod.Namespace, Name: "web-data"},
		NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
			{MatchExpressions: []v1.NodeSelectorRequirement{{Key: zone, Operator: v1.NodeSelectorOpIn, Values: []string{"z1"}}}}}}}}}
	o.StorageClasses = disks()
	nodes := func(o cluster.Objects) []string {
		answer, err := newEstimator(t, o).Feasible(pod, nil)
		require.NoError(t, err)
		return answer.Nodes
	}
	require.Equal(t, []string{"a", "b"}, nodes(o))
	o.Claims, o.PersistentVolumes = []*v1.PersistentVolumeClaim{claim}, []*v1.PersistentVolume{volume}
	require.Equal(t, []string{"a"}, nodes(o))
}
