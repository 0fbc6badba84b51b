package volumes_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/volumes"
)

// The filters of both packages take a snapshot without an adapter.
func TestSnapshot(t *testing.T) {
	o := exampleObjects()
	objects := cluster.Objects{Nodes: exampleNodes(), Claims: []*v1.PersistentVolumeClaim{exampleClaim("data-db-1")}}
	for pv := range o.PersistentVolumes.All() {
		objects.PersistentVolumes = append(objects.PersistentVolumes, pv)
	}
	for sc := range o.StorageClasses.All() {
		objects.StorageClasses = append(objects.StorageClasses, sc)
	}
	objects.CSINodes = []*storagev1.CSINode{}
	s, err := cluster.New(objects)
	require.NoError(t, err)

	seen := volumes.Objects{
		Claims: cluster.List[*v1.PersistentVolumeClaim](s), PersistentVolumes: cluster.List[*v1.PersistentVolume](s), StorageClasses: cluster.List[*storagev1.StorageClass](s), CSINodes: cluster.List[*storagev1.CSINode](s),
		CSIDrivers: cluster.List[*storagev1.CSIDriver](s), CSIStorageCapacities: cluster.List[*storagev1.CSIStorageCapacity](s), VolumeAttachments: cluster.List[*storagev1.VolumeAttachment](s),
	}
	pod := examplePod("db-1", "data-db-1")
	p := volumes.Compile(pod, seen, volumes.Options{})
	usage := volumes.NewUsage(s, seen)
	ps := filter.Predicates{
		filter.CompileFit(pod, filter.FitOptions{}).On(s), filter.CompilePorts(pod).On(s),
		p.Restrictions().On(usage), p.Limits().On(usage), p.Binding().On(s), p.Zone().On(s),
	}
	var rejected []string
	for _, i := range filter.ScanOrder(s) {
		for _, p := range ps {
			if p.Check(i) != 0 {
				rejected = append(rejected, s.Node(i).Name+" "+p.Name())
			}
		}
	}
	require.Equal(t, []string{
		"n1 NodeResourcesFit", "n1 VolumeBinding", "n3 NodeResourcesFit", "n5 NodeResourcesFit", "n5 VolumeBinding",
		"n2 NodeResourcesFit", "n2 VolumeBinding", "n4 NodeResourcesFit",
	}, rejected, "nodes without pods allowed take none; the volume is in zone b")
}
