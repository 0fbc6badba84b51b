package placement_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

func dataClaim(name string) *v1.PersistentVolumeClaim {
	class := "local"
	c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	c.Spec.StorageClassName = &class
	c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("50Gi")}
	return c
}

// Two db pods want one volume. Assume keeps the volume for the first pod, so that the second pod finds none. Forget gives the
// volume back.
func ExamplePlacer_Assume() {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	disk := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk-1"}}
	disk.Spec.StorageClassName, disk.Status.Phase = "local", v1.VolumeAvailable
	disk.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("100Gi")}
	var nodes []*v1.Node
	for k, zone := range []string{"a", "a", "b", "b", "c"} {
		name := fmt.Sprint("n", k+1)
		nodes = append(nodes, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: zone}},
			Status:     v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourcePods: resource.MustParse("110")}},
		})
	}
	snapshot, err := cluster.New(cluster.Objects{
		Nodes:             nodes,
		Claims:            []*v1.PersistentVolumeClaim{dataClaim("data-db-1"), dataClaim("data-db-2")},
		PersistentVolumes: []*v1.PersistentVolume{disk},
		StorageClasses: []*storagev1.StorageClass{{
			ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait,
		}},
	})
	if err != nil {
		panic(err)
	}
	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
	if err != nil {
		panic(err)
	}
	var placed []*v1.Pod
	try := func(name string) {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + name}}}}
		d := placer.Decide(pod, placement.Options{})
		if !d.Placed() {
			fmt.Println(name, d.Failure.Text())
			return
		}
		if err := placer.Assume(pod, d); err != nil {
			fmt.Println(err)
		}
		placed = append(placed, pod)
		volumes, _ := d.Volumes.Objects()
		fmt.Printf("%s to %s; to write: %s for claim %s\n", name, d.Node, volumes[0].Name, volumes[0].Spec.ClaimRef.Name)
	}
	try("db-1")
	try("db-2")
	if err := placer.Forget(placed[0]); err != nil {
		fmt.Println(err)
	}
	try("db-2")
	// Output:
	// db-1 to n1; to write: disk-1 for claim data-db-1
	// db-2 0/5 nodes are available: 5 node(s) didn't find available persistent volumes to bind.
	// db-2 to n1; to write: disk-1 for claim data-db-2
}
