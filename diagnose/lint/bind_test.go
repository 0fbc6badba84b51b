package lint

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

// A claim that is bound names its volume and its node, and the objects of the caller stay as they are. A volume that is made has the amount that the claim
// requests, belongs to that claim, has the driver of its class, and can be reached from the zone of the node, or from the node alone where it has no zone.
func TestBind(t *testing.T) {
	claimOf := func(name string) *v1.PersistentVolumeClaim {
		c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, GenerateName: "generated-", UID: "uid-of-claim"}}
		c.Spec.AccessModes, c.Spec.StorageClassName = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, new("disk")
		c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("5Gi")}
		c.Spec.Resources.Limits = v1.ResourceList{v1.ResourceStorage: resource.MustParse("9Gi")}
		return c
	}
	waiting, made, local := claimOf("waiting"), claimOf("made"), claimOf("local")
	existing := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "existing", GenerateName: "generated-"}}
	zoned := testkit.Node("n1").Label(v1.LabelTopologyZone, "z1").Label(v1.LabelHostname, "h1").Obj()
	plain := testkit.Node("n2").Label(v1.LabelHostname, "h2").Obj()
	for _, n := range []*v1.Node{zoned, plain} {
		n.Annotations = map[string]string{v1.LabelTopologyZone: "of an annotation", v1.LabelHostname: "of an annotation"}
	}
	s, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{zoned, plain}, Claims: []*v1.PersistentVolumeClaim{waiting, made, local}, PersistentVolumes: []*v1.PersistentVolume{existing},
		StorageClasses: []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Provisioner: "disk.example.com"}},
	})
	require.NoError(t, err)
	bind(s, volumes.Decision{Node: "n1", Bind: []volumes.Match{{Claim: waiting, Volume: existing}}, Provision: []*v1.PersistentVolumeClaim{made}})
	bind(s, volumes.Decision{Node: "n2", Provision: []*v1.PersistentVolumeClaim{local}})

	for _, c := range []struct{ claim, volume, node string }{{"waiting", "existing", "n1"}, {"made", "pvc-team-made", "n1"}, {"local", "pvc-team-local", "n2"}} {
		got, ok := cluster.List[*v1.PersistentVolumeClaim](s).Get("team", c.claim)
		require.True(t, ok)
		require.Equal(t, c.volume, got.Spec.VolumeName)
		require.Equal(t, v1.ClaimBound, got.Status.Phase)
		require.Equal(t, c.node, got.Annotations[volumes.AnnSelectedNode])
	}
	for k, given := range []*v1.PersistentVolumeClaim{waiting, made, local} {
		require.Equal(t, claimOf([]string{"waiting", "made", "local"}[k]), given, "the claim of the caller")
	}
	for _, c := range []struct{ claim, key, value string }{{"made", v1.LabelTopologyZone, "z1"}, {"local", v1.LabelHostname, "h2"}} {
		pv, ok := cluster.List[*v1.PersistentVolume](s).Get("", "pvc-team-"+c.claim)
		require.True(t, ok)
		want := v1.PersistentVolumeSpec{
			Capacity: made.Spec.Resources.Requests, AccessModes: made.Spec.AccessModes, StorageClassName: "disk",
			ClaimRef:               &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "team", Name: c.claim, UID: "uid-of-claim"},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "disk.example.com", VolumeHandle: pv.Name}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: c.key, Operator: v1.NodeSelectorOpIn, Values: []string{c.value}}},
			}}}},
		}
		require.Equal(t, want, pv.Spec)
	}
}
