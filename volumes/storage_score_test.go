package volumes

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The score of v1.37: zone a offers 20Gi, zone b 100Gi.
func TestStorageScore(t *testing.T) {
	nodes := []*v1.Node{node("n1", "zone", "a"), node("n2", "zone", "b"), nil}
	driver := &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{StorageCapacity: ptr(true)}}
	driver.Name = "d"
	published := func(list ...*v1.PersistentVolumeClaim) *world {
		return &world{nodes: nodes, claims: list, classes: classes(storageClass("s", "d", wait)), drivers: []*storagev1.CSIDriver{driver},
			capacities: []*storagev1.CSIStorageCapacity{capacityOf("a", "s", "20Gi", map[string]string{"zone": "a"}), capacityOf("b", "s", "100Gi", map[string]string{"zone": "b"})}}
	}
	volumesOf := func(list ...*v1.PersistentVolumeClaim) *world {
		return &world{nodes: nodes, claims: list, classes: classes(storageClass("s", noProvisioner, wait), storageClass("t", "d", wait)),
			volumes: volumes(volume("va", "s", "20Gi", on("zone", "a")), volume("vb", "s", "100Gi", on("zone", "b")))}
	}
	unreached := published(claim("c", "s", "10Gi"), claim("far", "", "1Gi", boundTo("v")))
	unreached.volumes = volumes(volume("v", "", "1Gi", on("zone", "b")))
	uncounted := published(claim("c", "s", "10Gi"))
	uncounted.drivers = nil
	type test struct {
		name, why string
		world     *world
		pod       *v1.Pod
		want      [3]int64
	}
	testkit.Run(t, []test{
		{"L2.4", "10Gi of 20Gi and of 100Gi", published(claim("c", "s", "10Gi")), pod("p", "c"), [3]int64{50, 90, 0}},
		{"two claims of a class", "15Gi together, each tested alone", published(claim("c", "s", "10Gi"), claim("d", "s", "5Gi")), pod("p", "c", "d"), [3]int64{25, 85, 0}},
		{"more than there is", "each fits alone", published(claim("c", "s", "15Gi"), claim("d", "s", "15Gi")), pod("p", "c", "d"), [3]int64{0, 70, 0}},
		{"too large", "a node without room has no score", published(claim("c", "s", "30Gi")), pod("p", "c"), [3]int64{0, 70, 0}},
		{"bound volume out of reach", "a node that is rejected has no score", unreached, pod("p", "c", "far"), [3]int64{0, 90, 0}},
		{"nobody publishes", "nothing to compare", uncounted, pod("p", "c"), [3]int64{0, 0, 0}},
		{"volumes", "10Gi of volumes with 20Gi and 100Gi", volumesOf(claim("c", "s", "10Gi")), pod("p", "c"), [3]int64{50, 90, 0}},
		{"volumes and provisioning", "only the volumes count", volumesOf(claim("c", "s", "10Gi"), claim("d", "t", "1Gi")), pod("p", "c", "d"), [3]int64{50, 90, 0}},
		{"bound", "nothing waits", &world{nodes: nodes, claims: claims(claim("c", "", "1Gi", boundTo("v"))), volumes: volumes(volume("v", "", "1Gi"))}, pod("p", "c"), [3]int64{0, 0, 0}},
	}, func(t *testing.T, tc test) {
		s := Compile(tc.pod, tc.world.objects(), Options{}).Binding().On(tc.world)
		for i := range nodes {
			require.Equal(t, tc.want[i], s.Raw(i), "slot %d", i)
		}
	})
}
