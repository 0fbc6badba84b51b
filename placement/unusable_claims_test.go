package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
)

// For claims that cannot be used, the message is that of the first plugin that rejects the pod.
func TestUnusableClaims(t *testing.T) {
	immediate := storagev1.VolumeBindingImmediate
	at := metav1.Unix(1, 0)
	claim := func(class string, change func(c *v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
		c := waiting("c", class, "1Gi")
		if change != nil {
			change(c)
		}
		return c
	}
	ephemeral := testkit.Pod("p").Obj()
	ephemeral.Spec.Volumes = []v1.Volume{{Name: "s", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}}
	const uu = filter.UnschedulableAndUnresolvable
	type test struct {
		name, why string
		claim     *v1.PersistentVolumeClaim
		pod       *v1.Pod
		code      filter.Code
		plugin    string
		want      string
	}
	testkit.Run(t, []test{
		{"no claim", "it does not exist", nil, nil, uu, "VolumeRestrictions", `0/5 nodes are available: persistentvolumeclaim "c" not found.`},
		{"no volume", "VolumeZone is in front of the nodes' own verdicts", claim("fast", func(c *v1.PersistentVolumeClaim) { bind(c, disk("gone", "fast", "a", "1Gi"), "d") }),
			nil, uu, "VolumeZone", `0/5 nodes are available: persistentvolume "gone" not found.`},
		{"lost", "its volume went away", claim("fast", func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeName, c.Status.Phase = "gone", v1.ClaimLost }),
			nil, uu, "VolumeBinding", `0/5 nodes are available: persistentvolumeclaim "c" bound to non-existent persistentvolume "gone".`},
		{"being deleted", "new pods do not get the claim", claim("fast", func(c *v1.PersistentVolumeClaim) { c.DeletionTimestamp = &at }),
			nil, uu, "VolumeBinding", `0/5 nodes are available: persistentvolumeclaim "c" is being deleted.`},
		{"immediate", "another program binds the claim later", claim("now", nil), nil, uu, "VolumeBinding", `0/5 nodes are available: pod has unbound immediate PersistentVolumeClaims.`},
		{"class missing", "as good as immediate", claim("unknown", nil), nil, uu, "VolumeBinding", `0/5 nodes are available: pod has unbound immediate PersistentVolumeClaims.`},
		{"class without mode", "the API server would have set the mode", claim("odd", nil), nil, filter.Error, "", `running PreFilter plugin "VolumeBinding": VolumeBindingMode not set for StorageClass "odd"`},
		{"ephemeral, not made yet", "its controller is at work", nil, ephemeral, uu, "VolumeBinding", `0/5 nodes are available: waiting for ephemeral volume controller to create the persistentvolumeclaim "p-s".`},
		{"ephemeral, another's", "a claim of that name was there before", claim("fast", func(c *v1.PersistentVolumeClaim) { c.Name = "p-s" }), ephemeral, uu, "VolumeBinding",
			`0/5 nodes are available: PVC default/p-s was not created for pod default/p (pod is not owner).`},
	}, func(t *testing.T, c test) {
		o := cluster.Objects{Nodes: threeZones(), StorageClasses: []*storagev1.StorageClass{
			storageClass("fast", "csi.example.com"), {ObjectMeta: metav1.ObjectMeta{Name: "now"}, VolumeBindingMode: &immediate}, {ObjectMeta: metav1.ObjectMeta{Name: "odd"}},
		}}
		if c.claim != nil {
			o.Claims = []*v1.PersistentVolumeClaim{c.claim}
		}
		pod := c.pod
		if pod == nil {
			pod = mounting(testkit.Pod("p").Obj(), "c")
		}
		p, _ := planOf(t, o)
		d := p.Decide(pod, Options{})
		require.NotNil(t, d.Failure)
		require.Equal(t, c.want, d.Failure.Text())
		require.Equal(t, c.code, d.Failure.Code)
		if c.plugin != "" {
			require.Equal(t, []string{c.plugin}, d.Failure.Rejecters)
		}
	})
}
