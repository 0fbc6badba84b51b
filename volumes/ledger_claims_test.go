package volumes

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Through a ledger a claim that a pod waits for has the node for which it is being provisioned, until the API has bound it.
func TestLedgerShowsClaims(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("a", "s", "1Gi"), claim("b", "s", "1Gi"), claim("c", "s", "1Gi")), classes: classes(storageClass("s", "d", wait))}
	l := NewLedger(w.objects())
	require.NoError(t, assume(l, w, pod("p", "b"), 0, Options{}))
	shown, ok := l.Objects().Claims.Get("default", "b")
	require.True(t, ok)
	require.Equal(t, "n1", shown.Annotations[AnnSelectedNode])
	require.Empty(t, w.claims[1].Annotations)
	again, _ := l.Objects().Claims.Get("default", "b")
	require.Same(t, shown, again, "the copy is made once")
	require.Equal(t, []*v1.PersistentVolumeClaim{w.claims[0], shown, w.claims[2]}, slices.Collect(l.Objects().Claims.All()))
	require.Equal(t, []*v1.PersistentVolumeClaim{w.claims[0], shown}, first(2, l.Objects().Claims.All()))

	later := claim("b", "s", "2Gi")
	w.claims[1] = later
	l.base = w.objects()
	shown, _ = l.Objects().Claims.Get("default", "b")
	require.Equal(t, later.Spec, shown.Spec, "the API has changed the claim")
	require.Equal(t, "n1", shown.Annotations[AnnSelectedNode])
	boundTo("v")(later)
	shown, _ = l.Objects().Claims.Get("default", "b")
	require.Same(t, later, shown)
}

// With Options.ReserveCapacity the claims of other classes in a ledger leave room.
func TestLedgerCountsClass(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("a", "s", "2Gi"), claim("b", "t", "2Gi"), claim("c", "s", "2Gi")), classes: classes(storageClass("s", "d", wait), storageClass("t", "e", wait))}
	w.drivers = append(w.drivers, driver("d", true))
	w.capacities = append(w.capacities, capacityOf("k", "s", "3Gi", map[string]string{}))
	o := Options{ReserveCapacity: true}
	l := NewLedger(w.objects())
	require.NoError(t, assume(l, w, pod("p", "b"), 0, o))
	require.NoError(t, assume(l, w, pod("q", "a"), 0, o))
	require.Error(t, assume(l, w, pod("r", "c"), 0, o))
}

// Of several faults of a pod the first is told, a claim's before a disk's.
func TestFirstFault(t *testing.T) {
	w := &world{claims: claims(claim("p-x", "", "1Gi"), claim("p-y", "", "1Gi"))}
	const foreignX, foreignY = "PVC default/p-x was not created for pod default/p (pod is not owner)", "PVC default/p-y was not created for pod default/p (pod is not owner)"
	missing := func(name string) string {
		return "looking up PVC default/" + name + `: persistentvolumeclaim "` + name + `" not found`
	}
	of := func(parts ...string) *v1.Pod {
		p := pod("p")
		for _, x := range parts {
			switch x {
			case "x", "y":
				p = ephemeral(p, x)
			case "disk":
				p = inline(p, ebsVolume("aws://z/disk", false))
			default:
				p.Spec.Volumes = append(p.Spec.Volumes, pod("", x).Spec.Volumes...)
			}
		}
		return p
	}
	for _, c := range []struct {
		pod            *v1.Pod
		reason, broken string
	}{
		{of("x", "y"), "", foreignX}, {of("y", "x"), "", foreignY}, {of("a", "b"), missing("a"), ""}, {of("a", "x"), missing("a"), ""}, {of("x", "a"), "", foreignX},
		{of("a", "disk"), missing("a"), ""}, {of("x", "disk"), "", foreignX},
	} {
		e := Compile(c.pod, w.objects(), Options{}).limits()
		require.Equal(t, []string{c.reason, c.broken, ""}, []string{e.reason, e.broken, e.disk})
	}
}

// A volume that a pod has both as a CSI volume and as one of an in-tree kind counts as a CSI volume, in either order.
func TestVolumeOfBothKinds(t *testing.T) {
	w := &world{claims: claims(claim("c", "", "1Gi", boundTo("v"))), volumes: volumes(volume("v", "", "1Gi", func(pv *v1.PersistentVolume) {
		pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: awsEBS.driver, VolumeHandle: "vol-1"}
	}))}
	both := inline(pod("p", "c"), ebsVolume("vol-1", false))
	turned := inline(pod("p"), ebsVolume("vol-1", false))
	turned.Spec.Volumes = append(turned.Spec.Volumes, both.Spec.Volumes[0])
	for _, p := range []*v1.Pod{both, turned} {
		require.Equal(t, []wanted{{disk{awsEBS.driver, "vol-1"}, false}}, Compile(p, w.objects(), Options{}).limits().disks)
	}
	require.True(t, Compile(inline(pod("p"), ebsVolume("vol-1", false)), w.objects(), Options{}).limits().disks[0].translated)
}
