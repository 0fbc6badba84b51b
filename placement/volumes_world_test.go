package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

func storageClass(name, provisioner string) *storagev1.StorageClass {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
}

// disk is a free volume of a class in one zone.
func disk(name, class, zone, size string) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pv.Spec.StorageClassName, pv.Status.Phase = class, v1.VolumeAvailable
	pv.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)}
	pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadWriteOncePod}
	pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}},
	}}}}
	return pv
}

func waiting(name, class, size string, modes ...v1.PersistentVolumeAccessMode) *v1.PersistentVolumeClaim {
	c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	c.Spec.StorageClassName, c.Spec.AccessModes = &class, modes
	c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)}
	return c
}

// bind binds a claim to a new CSI volume.
func bind(c *v1.PersistentVolumeClaim, pv *v1.PersistentVolume, driver string) {
	c.Spec.VolumeName, c.Annotations = pv.Name, map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: c.Namespace, Name: c.Name, UID: c.UID}
	pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: pv.Name}
}

func mounting(p *v1.Pod, claims ...string) *v1.Pod {
	for _, c := range claims {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: c, VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: c}}})
	}
	return p
}

func threeZones() []*v1.Node {
	var out []*v1.Node
	for _, n := range []string{"a1", "a2", "b1", "b2", "c1"} {
		out = append(out, testkit.Node(n).Zone(n[:1]).Capacity("cpu=4,memory=8Gi").Obj())
	}
	return out
}

func planOf(t testing.TB, o cluster.Objects) (*Plan, *cluster.Snapshot) {
	t.Helper()
	p, s := placerOf(t, o)
	return p.Plan, s
}

func placerOf(t testing.TB, o cluster.Objects) (*Placer, *cluster.Snapshot) {
	t.Helper()
	s, err := cluster.New(o)
	require.NoError(t, err)
	p, err := NewPlacer(s, DefaultProfile())
	require.NoError(t, err)
	return p, s
}

func place(t *testing.T, p *Placer, pod *v1.Pod) Decision {
	t.Helper()
	d := p.Decide(pod, Options{})
	require.True(t, d.Placed(), "%s", text(d))
	require.NoError(t, p.Assume(pod, d))
	return d
}

// volumeWorld is a random cluster in which many pods need few volumes.
func volumeWorld(t *testing.T, r *rand.Rand) (*Placer, *cluster.Snapshot) {
	o := cluster.Objects{Nodes: threeZones(), StorageClasses: []*storagev1.StorageClass{
		storageClass("local", "kubernetes.io/no-provisioner"), storageClass("fast", "csi.example.com")}}
	for k := range 5 {
		o.PersistentVolumes = append(o.PersistentVolumes, disk(fmt.Sprintf("d%d", k), "local", string("abc"[r.IntN(3)]), fmt.Sprintf("%dGi", 1+r.IntN(3))))
	}
	modes := []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadWriteOncePod}
	for k := range 10 {
		c := waiting(fmt.Sprintf("c%d", k), []string{"local", "fast"}[r.IntN(2)], fmt.Sprintf("%dGi", 1+r.IntN(3)), modes[r.IntN(2)])
		if k < 4 {
			*c.Spec.StorageClassName = "fast"
			pv := disk("bound-"+c.Name, "fast", string("abc"[r.IntN(3)]), "3Gi")
			bind(c, pv, "csi.example.com")
			o.PersistentVolumes = append(o.PersistentVolumes, pv)
		}
		o.Claims = append(o.Claims, c)
	}
	for _, n := range o.Nodes {
		limit := int32(1 + r.IntN(3))
		o.CSINodes = append(o.CSINodes, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Spec: storagev1.CSINodeSpec{
			Drivers: []storagev1.CSINodeDriver{{Name: "csi.example.com", Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}}}})
	}
	return placerOf(t, o)
}

func volumePod(r *rand.Rand, name string) *v1.Pod {
	p := testkit.Pod(name).Request("cpu=500m").Obj()
	for range 1 + r.IntN(2) {
		mounting(p, fmt.Sprintf("c%d", r.IntN(10)))
	}
	if r.IntN(4) == 0 {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "gce", VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: fmt.Sprint(r.IntN(2))}}})
	}
	if r.IntN(3) == 0 {
		p.UID = ""
	}
	return p
}
