package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/volumes"
)

// BenchmarkVolumePluginsSkip measures what the volume plugins cost pods without volumes.
func BenchmarkVolumePluginsSkip(b *testing.B) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(b, err)
	o := volumes.Options{}
	plugins := Profile{Filters: []*Plugin{newVolumeRestrictions(o), newNodeVolumeLimits(o), newVolumeBinding(o), newVolumeZone(o)}}.over(s).Filters
	pod := testkit.Pod("p").Obj()
	pod.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}}, {VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}}}
	b.ReportAllocs()
	for b.Loop() {
		for _, f := range plugins {
			f.Filter(pod, s)
		}
	}
}

// BenchmarkDecideVolumes measures decisions for pods with bound and waiting claims, and all updates of the cluster.
func BenchmarkDecideVolumes(b *testing.B) {
	const nodes = 5000
	for _, kind := range []string{"bound", "waiting"} {
		b.Run(kind, func(b *testing.B) {
			o := cluster.Objects{StorageClasses: []*storagev1.StorageClass{storageClass("fast", "csi.example.com")}}
			limit := int32(20)
			for i := range nodes {
				n := testkit.Node(fmt.Sprintf("node-%d", i)).Zone(string("abc"[i%3])).Capacity("cpu=32,memory=64Gi").Obj()
				o.Nodes = append(o.Nodes, n)
				o.CSINodes = append(o.CSINodes, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Spec: storagev1.CSINodeSpec{
					Drivers: []storagev1.CSINodeDriver{{Name: "csi.example.com", Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}}}})
				for k := range 2 {
					c := waiting(fmt.Sprintf("c-%d-%d", i, k), "fast", "1Gi")
					if k == 0 || kind == "bound" {
						pv := disk("pv-"+c.Name, "fast", string("abc"[i%3]), "1Gi")
						bind(c, pv, "csi.example.com")
						o.PersistentVolumes = append(o.PersistentVolumes, pv)
					}
					o.Claims = append(o.Claims, c)
				}
				o.Pods = append(o.Pods, mounting(testkit.Pod(fmt.Sprintf("p-%d", i)).Request("cpu=1").On(n.Name).Obj(), fmt.Sprintf("c-%d-0", i)))
			}
			s, err := cluster.New(o)
			require.NoError(b, err)
			p, err := NewPlacer(s, benchProfile())
			require.NoError(b, err)
			b.ReportAllocs()
			k := 0
			m := s.Mark()
			for b.Loop() {
				if k == nodes {
					b.Fatal("too many iterations for the fixture")
				}
				pod := mounting(testkit.Pod(fmt.Sprintf("new-%d", k)).Request("cpu=1").Obj(), fmt.Sprintf("c-%d-1", k))
				d := p.Decide(pod, Options{})
				if !d.Placed() {
					b.Fatal(text(d))
				}
				if err := p.Assume(pod, d); err != nil {
					b.Fatal(err)
				}
				k++
			}
			s.Rollback(m)
		})
	}
}
