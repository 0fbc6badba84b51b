package tracker_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/volumes"
	"github.com/podberth/podberth/volumes/tracker"
)

// diskClaim asks for a disk of the class local.
func diskClaim(name string) *v1.PersistentVolumeClaim {
	class := "local"
	c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "d6f1"}}
	c.Spec.StorageClassName = &class
	c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("50Gi")}
	return c
}

// dbPod uses the claim of its own name.
func dbPod(name string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	return p
}

// One disk of the class local is free. The first pod reserves the disk, so that the second finds none, and PreBind writes the disk and the
// claim.
func ExampleTracker() {
	disk := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk-1"}}
	disk.Spec.StorageClassName = "local"
	disk.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("100Gi")}
	disk.Status.Phase = v1.VolumeAvailable
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	snapshot, err := cluster.New(cluster.Objects{
		Nodes:             []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}},
		Claims:            []*v1.PersistentVolumeClaim{diskClaim("db-0"), diskClaim("db-1")},
		PersistentVolumes: []*v1.PersistentVolume{disk},
		StorageClasses:    []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &mode}},
	})
	if err != nil {
		panic(err)
	}
	t := tracker.New(snapshot, tracker.Of(snapshot))
	first := dbPod("db-0")
	binding := volumes.Compile(first, t.Objects(), volumes.Options{}).Binding().On(snapshot)
	decision, _ := binding.Bindings(0)
	if err := t.Reserve(first, 0, decision); err != nil {
		panic(err)
	}
	second := volumes.Compile(dbPod("db-1"), t.Objects(), volumes.Options{}).Binding().On(snapshot)
	fmt.Println("db-1:", second.Reasons(second.Check(0)))
	disks, claims := decision.Objects()
	fmt.Println("PreBind writes", disks[0].Name, "for", disks[0].Spec.ClaimRef.Name, "and", len(claims), "claims")
	// Output:
	// db-1: [node(s) didn't find available persistent volumes to bind]
	// PreBind writes disk-1 for db-0 and 0 claims
}
