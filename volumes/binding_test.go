package volumes

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	noneToBind = "UnschedulableAndUnresolvable: node(s) didn't find available persistent volumes to bind"
	conflict   = "UnschedulableAndUnresolvable: node(s) didn't match PersistentVolume's node affinity"
	full       = "UnschedulableAndUnresolvable: node(s) did not have enough free storage"
	noVolume   = "UnschedulableAndUnresolvable: node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
	podUU      = "pod UnschedulableAndUnresolvable: "
	unbound    = podUU + "pod has unbound immediate PersistentVolumeClaims"
)

func claims(c ...*v1.PersistentVolumeClaim) []*v1.PersistentVolumeClaim { return c }
func volumes(v ...*v1.PersistentVolume) []*v1.PersistentVolume          { return v }
func classes(c ...*storagev1.StorageClass) []*storagev1.StorageClass    { return c }

func TestBindingPreFilter(t *testing.T) {
	eph := func() *v1.Pod { return ephemeral(pod("p"), "data") }
	run(t, bindingAt, []volumeCase{
		{"no claims", "nothing to do", &world{}, pod("p"), Options{}, []string{"skip"}},
		{"missing claim", "the pod waits for it", &world{}, pod("p", "c"), Options{}, []string{podUU + `persistentvolumeclaim "c" not found`}},
		{"missing ephemeral claim", "its controller has not made it yet", &world{}, eph(), Options{},
			[]string{podUU + `waiting for ephemeral volume controller to create the persistentvolumeclaim "p-data"`}},
		{"lost claim", "its volume is gone for good",
			&world{claims: claims(claim("c", "", "1Gi", boundTo("pv"), func(c *v1.PersistentVolumeClaim) { c.Status.Phase = v1.ClaimLost }))}, pod("p", "c"), Options{},
			[]string{podUU + `persistentvolumeclaim "c" bound to non-existent persistentvolume "pv"`}},
		{"claim being deleted", "it will go",
			&world{claims: claims(claim("c", "", "1Gi", boundTo("pv"), func(c *v1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{} }))}, pod("p", "c"), Options{},
			[]string{podUU + `persistentvolumeclaim "c" is being deleted`}},
		{"ephemeral claim of another", "a claim of that name is not the pod's", &world{claims: claims(claim("p-data", "", "1Gi", boundTo("pv")))}, eph(), Options{},
			[]string{podUU + "PVC default/p-data was not created for pod default/p (pod is not owner)"}},
		{"own ephemeral claim", "works as any claim",
			&world{claims: claims(claim("p-data", "", "1Gi", boundTo("pv"), ownedBy(eph()))), volumes: volumes(volume("pv", "", "1Gi"))}, eph(), Options{}, []string{"ok"}},
		{"unbound without class", "immediate", &world{claims: claims(claim("c", "", "1Gi"))}, pod("p", "c"), Options{}, []string{unbound}},
		{"class missing", "immediate too", &world{claims: claims(claim("c", "gone", "1Gi"))}, pod("p", "c"), Options{}, []string{unbound}},
		{"immediate class", "the volume controller's work", &world{claims: claims(claim("c", "s", "1Gi")), classes: classes(storageClass("s", "d", now))}, pod("p", "c"), Options{}, []string{unbound}},
		{"volume preset but not completed", "counts as immediate though its class waits",
			&world{claims: claims(claim("c", "s", "1Gi", func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv" })), classes: classes(storageClass("s", "d", wait))}, pod("p", "c"), Options{}, []string{unbound}},
		{"class without mode", "an error", &world{claims: claims(claim("c", "s", "1Gi")), classes: classes(storageClass("s", "d", nil))}, pod("p", "c"), Options{},
			[]string{`pod Error: VolumeBindingMode not set for StorageClass "s"`}},
		{"class by annotation", "the annotation counts before the field",
			&world{claims: claims(claim("c", "s", "1Gi", func(c *v1.PersistentVolumeClaim) { c.Annotations[v1.BetaStorageClassAnnotation] = "w" })),
				classes: classes(storageClass("s", "d", now), storageClass("w", "d", wait))}, pod("p", "c"), Options{}, []string{"ok"}},
		{"order of claims", "the first claim in the pod's order that cannot be used is named",
			&world{claims: claims(claim("a", "", "1Gi"))}, pod("p", "a", "x", "y"), Options{}, []string{podUU + `persistentvolumeclaim "x" not found`}},
	})
}

func TestBindingFilter(t *testing.T) {
	zones := []*v1.Node{node("n1", "zone", "a"), node("n2", "zone", "b")}
	bound := func(c ...func(*v1.PersistentVolume)) *world {
		return &world{nodes: zones, claims: claims(claim("c", "", "1Gi", boundTo("pv"))), volumes: volumes(volume("pv", "", "1Gi", c...))}
	}
	// delayed has a claim c of 2Gi of a waiting class without provisioner.
	delayed := func(pvs ...*v1.PersistentVolume) *world {
		return &world{nodes: zones, claims: claims(claim("c", "s", "2Gi")), volumes: pvs, classes: classes(storageClass("s", noProvisioner, wait))}
	}
	change := func(w *world, f func(*v1.PersistentVolumeClaim)) *world { f(w.claims[0]); return w }
	reservedFor := func(name string, uid types.UID) func(*v1.PersistentVolume) {
		return func(pv *v1.PersistentVolume) {
			pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: name, UID: uid}
			pv.Status.Phase = v1.VolumeBound
		}
	}
	p := pod("p", "c")
	both := []string{"ok", "ok"}
	neither := []string{noneToBind, noneToBind}
	run(t, bindingAt, []volumeCase{
		{"bound volume without affinity", "reachable from everywhere", bound(), p, Options{}, both},
		{"bound volume in a zone", "its nodes only", bound(on("zone", "a")), p, Options{}, []string{"ok", conflict}},
		{"bound volume missing", "every node lacks it", &world{nodes: zones, claims: claims(claim("c", "", "1Gi", boundTo("pv")))}, p, Options{}, []string{noVolume, noVolume}},
		{"empty node selector", "a selector without terms matches nothing",
			bound(func(pv *v1.PersistentVolume) {
				pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{}}
			}), p, Options{}, []string{conflict, conflict}},
		{"volume that fits", "any node takes it", delayed(volume("pv", "s", "2Gi")), p, Options{}, both},
		{"volume too small", "no other, no provisioner", delayed(volume("pv", "s", "1Gi")), p, Options{}, neither},
		{"volume of another class", "is not looked at", delayed(volume("pv", "t", "2Gi")), p, Options{}, neither},
		{"volume of the class by annotation", "the annotation counts before the field",
			delayed(volume("pv", "t", "2Gi", func(pv *v1.PersistentVolume) {
				pv.Annotations = map[string]string{v1.BetaStorageClassAnnotation: "s"}
			})), p, Options{}, both},
		{"volume in a zone", "its nodes only", delayed(volume("pv", "s", "2Gi", on("zone", "b"))), p, Options{}, []string{noneToBind, "ok"}},
		{"volume not available", "the phase must be Available", delayed(volume("pv", "s", "2Gi", func(pv *v1.PersistentVolume) { pv.Status.Phase = v1.VolumeReleased })), p, Options{}, neither},
		{"volume being deleted", "is no candidate", delayed(volume("pv", "s", "2Gi", func(pv *v1.PersistentVolume) { pv.DeletionTimestamp = &metav1.Time{} })), p, Options{}, neither},
		{"another mode", "block is not a file system", delayed(volume("pv", "s", "2Gi", func(pv *v1.PersistentVolume) { pv.Spec.VolumeMode = ptr(v1.PersistentVolumeBlock) })), p, Options{}, neither},
		{"mode written out", "nil is Filesystem", delayed(volume("pv", "s", "2Gi", func(pv *v1.PersistentVolume) { pv.Spec.VolumeMode = ptr(v1.PersistentVolumeFilesystem) })), p, Options{}, both},
		{"another attributes class", "must be equal", delayed(volume("pv", "s", "2Gi", func(pv *v1.PersistentVolume) { pv.Spec.VolumeAttributesClassName = ptr("gold") })), p, Options{}, neither},
		{"empty attributes class", "nil is empty", delayed(volume("pv", "s", "2Gi", func(pv *v1.PersistentVolume) { pv.Spec.VolumeAttributesClassName = ptr("") })), p, Options{}, both},
		{"access modes", "the volume must offer all that the claim asks for",
			change(delayed(volume("pv", "s", "2Gi")), func(c *v1.PersistentVolumeClaim) {
				c.Spec.AccessModes = append(c.Spec.AccessModes, v1.ReadOnlyMany)
			}), p, Options{}, neither},
		{"selector", "the volume's labels must match",
			change(delayed(volume("pv", "s", "2Gi"), volume("pw", "s", "9Gi", labelled("tier", "fast"), on("zone", "b"))), func(c *v1.PersistentVolumeClaim) {
				c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "fast"}}
			}), p, Options{}, []string{noneToBind, "ok"}},
		{"selector that cannot be read", "an error of the plugin",
			change(delayed(volume("pv", "s", "2Gi")), func(c *v1.PersistentVolumeClaim) {
				c.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
			}), p, Options{}, []string{`Error: "Near" is not a valid label selector operator`, `Error: "Near" is not a valid label selector operator`}},
		{"volume of another claim", "claimRef names someone else", delayed(volume("pv", "s", "2Gi", reservedFor("d", ""))), p, Options{}, neither},
		{"volume reserved by name", "claimRef without UID", delayed(volume("pv", "s", "2Gi", reservedFor("c", ""))), p, Options{}, both},
		{"volume reserved by UID", "claimRef in full", delayed(volume("pv", "s", "2Gi", reservedFor("c", "claim-c"))), p, Options{}, both},
		{"volume of the claim's predecessor", "the UID is another", delayed(volume("pv", "s", "2Gi", reservedFor("c", "other"))), p, Options{}, neither},
		{"reserved volume out of reach", "no other volume will do", delayed(volume("free", "s", "2Gi"), volume("mine", "s", "2Gi", reservedFor("c", ""), on("zone", "a"))), p, Options{}, []string{"ok", noneToBind}},
		{"selected for another node", "that node alone will do",
			change(delayed(volume("pv", "s", "2Gi")), func(c *v1.PersistentVolumeClaim) { c.Annotations[AnnSelectedNode] = "n3" }), p, Options{}, neither},
		{"selected for this node", "goes straight to provisioning, which the class cannot",
			change(delayed(volume("pv", "s", "2Gi")), func(c *v1.PersistentVolumeClaim) { c.Annotations[AnnSelectedNode] = "n1" }), p, Options{}, neither},
		{"node conflict and no match", "both steps are told",
			&world{nodes: zones, claims: claims(claim("b", "", "1Gi", boundTo("pv")), claim("c", "s", "2Gi")), volumes: volumes(volume("pv", "", "1Gi", on("zone", "a"))),
				classes: classes(storageClass("s", noProvisioner, wait))}, pod("p", "b", "c"), Options{},
			[]string{noneToBind, conflict + ", node(s) didn't find available persistent volumes to bind"}},
		{"no match and missing volume", "in the order of the texts",
			&world{nodes: zones[:1], claims: claims(claim("b", "", "1Gi", boundTo("pv")), claim("c", "s", "2Gi")), classes: classes(storageClass("s", noProvisioner, wait))}, pod("p", "b", "c"), Options{},
			[]string{noneToBind + ", node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"}},
		{"one volume for two claims", "each claim takes its own",
			&world{nodes: zones[:1], claims: claims(claim("a", "s", "1Gi"), claim("b", "s", "1Gi")), volumes: volumes(volume("pv", "s", "2Gi")), classes: classes(storageClass("s", noProvisioner, wait))},
			pod("p", "a", "b"), Options{}, []string{noneToBind}},
		{"small claims first", "the larger claim is left the larger volume",
			&world{nodes: zones[:1], claims: claims(claim("a", "s", "2Gi"), claim("b", "s", "1Gi")), volumes: volumes(volume("big", "s", "2Gi"), volume("small", "s", "1Gi")), classes: classes(storageClass("s", noProvisioner, wait))},
			pod("p", "a", "b"), Options{}, []string{"ok"}},
	})
}

func TestProvisioning(t *testing.T) {
	zones := []*v1.Node{node("n1", "zone", "a"), node("n2", "zone", "b")}
	in := func(key string, values ...string) v1.TopologySelectorTerm {
		return v1.TopologySelectorTerm{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: key, Values: values}}}
	}
	w := func(size string, topologies ...v1.TopologySelectorTerm) *world {
		return &world{nodes: zones, claims: claims(claim("c", "s", size)), classes: classes(storageClass("s", "d", wait, topologies...))}
	}
	counted := func(size string, publishes bool, c ...*storagev1.CSIStorageCapacity) *world {
		x := w(size)
		x.drivers, x.capacities = []*storagev1.CSIDriver{driver("d", publishes)}, c
		return x
	}
	largest := func(c *storagev1.CSIStorageCapacity, most string) *storagev1.CSIStorageCapacity {
		c.MaximumVolumeSize = ptr(resource.MustParse(most))
		return c
	}
	a, everywhere := map[string]string{"zone": "a"}, map[string]string{}
	p := pod("p", "c")
	both, neither := []string{"ok", "ok"}, []string{full, full}
	two := func(size string, c *storagev1.CSIStorageCapacity) *world {
		x := counted(size, true, c)
		x.claims = append(x.claims, claim("d", "s", size))
		return x
	}
	run(t, bindingAt, []volumeCase{
		{"provisioner", "makes a volume anywhere", w("2Gi"), p, Options{}, both},
		{"no provisioner", "an empty one makes none", &world{nodes: zones, claims: claims(claim("c", "s", "1Gi")), classes: classes(storageClass("s", "", wait))}, p, Options{}, []string{noneToBind, noneToBind}},
		{"allowed topology", "of that zone only", w("2Gi", in("zone", "a")), p, Options{}, []string{"ok", noneToBind}},
		{"allowed topologies", "any term will do", w("2Gi", in("zone", "a"), in("zone", "b")), p, Options{}, both},
		{"two labels", "all expressions of a term must match",
			w("2Gi", v1.TopologySelectorTerm{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: "zone", Values: []string{"a"}}, {Key: "rack", Values: []string{"r"}}}}), p, Options{}, []string{noneToBind, noneToBind}},
		{"empty term", "matches nothing", w("2Gi", v1.TopologySelectorTerm{}), p, Options{}, []string{noneToBind, noneToBind}},
		{"selected for this node", "goes straight to provisioning",
			func() *world { x := w("2Gi"); x.claims[0].Annotations[AnnSelectedNode] = "n1"; return x }(), p, Options{}, []string{"ok", noneToBind}},
		{"capacity published", "room in zone a", counted("5Gi", true, capacityOf("k", "s", "10Gi", a)), p, Options{}, []string{"ok", full}},
		{"capacity everywhere", "an empty selector matches all nodes", counted("5Gi", true, capacityOf("k", "s", "10Gi", everywhere)), p, Options{}, both},
		{"capacity without topology", "matches no node", counted("5Gi", true, capacityOf("k", "s", "10Gi", nil)), p, Options{}, neither},
		{"capacity of another class", "does not count", counted("5Gi", true, capacityOf("k", "t", "10Gi", everywhere)), p, Options{}, neither},
		{"no capacity object", "there is no room", counted("5Gi", true), p, Options{}, neither},
		{"capacity without amount", "is none", counted("5Gi", true, capacityOf("k", "s", "", everywhere)), p, Options{}, neither},
		{"largest volume", "counts before the capacity", counted("5Gi", true, largest(capacityOf("k", "s", "10Gi", everywhere), "4Gi")), p, Options{}, neither},
		{"largest volume alone", "is enough", counted("5Gi", true, largest(capacityOf("k", "s", "", everywhere), "5Gi")), p, Options{}, both},
		{"driver does not publish", "capacity is not checked", counted("5Gi", false), p, Options{}, both},
		{"no request", "capacity is not checked", counted("", true), p, Options{}, both},
		{"two claims of 6Gi in 10Gi", "each is tested alone", two("6Gi", capacityOf("k", "s", "10Gi", everywhere)), pod("p", "c", "d"), Options{}, both},
		{"one claim of 11Gi in 10Gi", "too large", counted("11Gi", true, capacityOf("k", "s", "10Gi", everywhere)), p, Options{}, neither},
		{"two claims of 6Gi counted", "option: together they are too large", two("6Gi", capacityOf("k", "s", "10Gi", everywhere)), pod("p", "c", "d"), Options{ReserveCapacity: true}, neither},
		{"two claims of 5Gi counted", "option: together they fit", two("5Gi", capacityOf("k", "s", "10Gi", everywhere)), pod("p", "c", "d"), Options{ReserveCapacity: true}, both},
	})
}

func names(d Decision) map[string]string {
	out := map[string]string{}
	for _, m := range d.Bind {
		out[m.Claim.Name] = m.Volume.Name
	}
	for _, c := range d.Provision {
		out[c.Name] = "new on " + d.Node
	}
	return out
}

func TestBindings(t *testing.T) {
	w := &world{
		nodes:   []*v1.Node{node("n1", "zone", "a"), node("n2", "zone", "b"), nil},
		claims:  claims(claim("bound", "", "1Gi", boundTo("old")), claim("big", "s", "5Gi"), claim("small", "s", "1Gi"), claim("rest", "s", "50Gi")),
		volumes: volumes(volume("old", "", "1Gi"), volume("v9", "s", "9Gi"), volume("v1b", "s", "1Gi"), volume("v1a", "s", "1Gi"), volume("v6", "s", "6Gi", on("zone", "b"))),
		classes: classes(storageClass("s", "d", wait)),
	}
	s := Compile(pod("p", "bound", "big", "small", "rest"), w.objects(), Options{}).Binding().On(w)
	d, ok := s.Bindings(0)
	require.True(t, ok)
	require.Equal(t, map[string]string{"small": "v1b", "big": "v9", "rest": "new on n1"}, names(d), "smallest first, of equal ones the first in the table")
	require.False(t, d.Empty())
	d, ok = s.Bindings(1)
	require.True(t, ok)
	require.Equal(t, map[string]string{"small": "v1b", "big": "v6", "rest": "new on n2"}, names(d), "the smaller volume is in reach there")

	pvs, pvcs := d.Objects()
	require.Len(t, pvs, 2)
	require.Equal(t, "yes", pvs[0].Annotations[annBoundByController])
	require.Equal(t, &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: "small", UID: "claim-small"}, pvs[0].Spec.ClaimRef)
	require.Len(t, pvcs, 1)
	require.Equal(t, "n2", pvcs[0].Annotations[AnnSelectedNode])
	require.Nil(t, w.volumes[2].Spec.ClaimRef, "the objects themselves are not written to")
	require.Empty(t, w.claims[3].Annotations)

	bound, ok := Compile(pod("p", "bound"), w.objects(), Options{}).Binding().On(w).Bindings(0)
	require.True(t, ok)
	require.True(t, bound.Empty())
	_, ok = Compile(pod("p", "bound"), (&world{claims: w.claims}).objects(), Options{}).Binding().On(w).Bindings(0)
	require.False(t, ok)
	w.classes[0].Provisioner = noProvisioner
	_, ok = Compile(pod("p", "rest"), w.objects(), Options{}).Binding().On(w).Bindings(0)
	require.False(t, ok)
}

func TestBindingExplain(t *testing.T) {
	w := &world{
		nodes:   []*v1.Node{node("n1", "zone", "a"), node("n2", "zone", "b")},
		claims:  claims(claim("b", "", "1Gi", boundTo("pv")), claim("c", "s", "2Gi"), claim("d", "s", "1Gi")),
		volumes: volumes(volume("pv", "", "1Gi", on("zone", "a")), volume("free", "s", "1Gi")),
		classes: classes(storageClass("s", noProvisioner, wait)),
	}
	s := Compile(pod("p", "b", "c", "d"), w.objects(), Options{}).Binding().On(w)
	require.Equal(t, []ClaimProblem{{Claim: "c", Reason: "node(s) didn't find available persistent volumes to bind"}}, s.Explain(0))
	require.Equal(t, []ClaimProblem{{Claim: "b", Volume: "pv", Reason: "node(s) didn't match PersistentVolume's node affinity"},
		{Claim: "c", Reason: "node(s) didn't find available persistent volumes to bind"}}, s.Explain(1))
}
