package tracker

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/volumes"
)

// disk is a free volume of a class in one zone.
func disk(name, class, zone string) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pv.Spec.StorageClassName, pv.Status.Phase = class, v1.VolumeAvailable
	pv.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}},
	}}}}
	return pv
}

// waiting is a claim of the class local.
func waiting(name string) *v1.PersistentVolumeClaim {
	class := "local"
	c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	c.Spec.StorageClassName = &class
	c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	return c
}

func mounting(p *v1.Pod, claim string) *v1.Pod {
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: claim, VolumeSource: v1.VolumeSource{
		PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	return p
}

// localVolumes is a cluster of three zones. Two zones have a free volume, and three claims wait.
func localVolumes(t *testing.T) *cluster.Snapshot {
	t.Helper()
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	var nodes []*v1.Node
	for _, n := range []string{"a1", "a2", "b1", "b2", "c1"} {
		nodes = append(nodes, testkit.Node(n).Zone(n[:1]).Capacity("cpu=4,memory=8Gi").Obj())
	}
	s, err := cluster.New(cluster.Objects{
		Nodes:             nodes,
		StorageClasses:    []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait}},
		PersistentVolumes: []*v1.PersistentVolume{disk("d1", "local", "b"), disk("d2", "local", "c")},
		Claims:            []*v1.PersistentVolumeClaim{waiting("x"), waiting("y"), waiting("z")},
	})
	require.NoError(t, err)
	return s
}

// decide returns what would be bound for the pod on a slot.
func decide(t *testing.T, k *Tracker, s *cluster.Snapshot, pod *v1.Pod, slot int) volumes.Decision {
	t.Helper()
	d, ok := volumes.Compile(pod, k.Objects(), volumes.Options{}).Binding().On(s).Bindings(slot)
	require.True(t, ok)
	require.Len(t, d.Bind, 1)
	return d
}

// assume puts the pod on a node of the snapshot, with its volumes.
func assume(t *testing.T, k *Tracker, s *cluster.Snapshot, pod *v1.Pod, node string) {
	t.Helper()
	slot := s.Slot(node)
	d := decide(t, k, s, pod, slot)
	require.NoError(t, s.Assume(pod, slot))
	require.NoError(t, k.Assume(pod, slot, d))
}
