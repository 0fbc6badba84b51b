package placement_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

func dataClaim(name string) *v1.PersistentVolumeClaim {
	class := "local"
	c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	c.Spec.StorageClassName = &class
	c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("50Gi")}
	return c
}

// Two database pods after one volume: what the first decision promised, the second pod does not get. PreBind would write the
// objects; Forget gives the volume back.
func ExamplePlan_Assume() {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	disk := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk-1"}}
	disk.Spec.StorageClassName, disk.Status.Phase = "local", v1.VolumeAvailable
	disk.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("100Gi")}
	snapshot, err := cluster.New(cluster.Objects{
		Nodes:             []*v1.Node{testkit.Node("node-1").Zone("a").Obj(), testkit.Node("node-2").Zone("b").Obj()},
		Claims:            []*v1.PersistentVolumeClaim{dataClaim("data-db-1"), dataClaim("data-db-2")},
		PersistentVolumes: []*v1.PersistentVolume{disk},
		StorageClasses: []*storagev1.StorageClass{{
			ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait,
		}},
	})
	if err != nil {
		panic(err)
	}
	plan, err := placement.New(snapshot, placement.DefaultProfile())
	if err != nil {
		panic(err)
	}
	var placed []*v1.Pod
	try := func(name string) {
		pod := testkit.Pod(name).Obj()
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + name}}}}
		d := plan.Decide(pod, placement.Options{})
		if !d.Placed() {
			fmt.Println(name, d.Failure.Text())
			return
		}
		if err := plan.Assume(pod, d); err != nil {
			fmt.Println(err)
		}
		placed = append(placed, pod)
		volumes, _ := d.Volumes.Objects()
		fmt.Printf("%s to %s; to write: %s for claim %s\n", name, d.Node, volumes[0].Name, volumes[0].Spec.ClaimRef.Name)
	}
	try("db-1")
	try("db-2")
	if err := plan.Forget(placed[0]); err != nil {
		fmt.Println(err)
	}
	try("db-2")
	// Output:
	// db-1 to node-1; to write: disk-1 for claim data-db-1
	// db-2 0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.
	// db-2 to node-1; to write: disk-1 for claim data-db-2
}
