package volumes

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// A clone of a ledger has the same promises. What is promised or taken back later in one of them does not change the other.
func TestLedgerClone(t *testing.T) {
	differs := 0
	for seed := range int64(300) {
		rng := rand.New(rand.NewSource(seed))
		w := randomWorld(rng)
		play := func(l *Ledger, from, to int) {
			for k := from; k < to; k++ {
				_ = assume(l, w, pod(fmt.Sprint("p", k), w.claims[rng.Intn(len(w.claims))].Name, w.claims[rng.Intn(len(w.claims))].Name), rng.Intn(len(w.nodes)), Options{})
			}
		}
		l := NewLedger(w.objects())
		play(l, 0, 6)
		before := show(l)
		c := l.Clone(w.objects())
		require.Empty(t, cmp.Diff(before, show(c)), "seed %d", seed)
		for uid, a := range l.pods {
			d, ok := c.Decision(uid)
			require.True(t, ok)
			require.Equal(t, a.decision, d)
		}
		play(c, 6, 12)
		for k := range 3 {
			c.Forget(pod(fmt.Sprint("p", k)).UID)
		}
		require.Empty(t, cmp.Diff(before, show(l)), "the clone changes the ledger, seed %d", seed)
		changed := show(c)
		if !cmp.Equal(before, changed) {
			differs++
		}
		for k := range 6 {
			l.Forget(pod(fmt.Sprint("p", k)).UID)
		}
		require.Empty(t, cmp.Diff(changed, show(c)), "the ledger changes the clone, seed %d", seed)
	}
	require.Greater(t, differs, 100)
}

// A decision changes only objects that do not say it already.
func TestDecisionObjects(t *testing.T) {
	c, d := claim("c", "s", "1Gi"), claim("d", "s", "1Gi")
	d.Annotations[AnnSelectedNode] = "n1"
	free, taken, named := volume("free", "s", "1Gi"), volume("taken", "s", "1Gi"), volume("named", "s", "1Gi")
	taken.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "c", UID: c.UID}
	named.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "c"}
	volumes, claims := Decision{Node: "n1", Bind: []Match{{c, free}, {c, taken}, {c, named}}, Provision: []*v1.PersistentVolumeClaim{c, d}}.Objects()
	require.Equal(t, []string{"free", "named"}, []string{volumes[0].Name, volumes[1].Name})
	nameless, strange := claim("x", "s", "1Gi"), volume("strange", "s", "1Gi")
	nameless.UID, strange.Spec.ClaimRef = "", &v1.ObjectReference{Namespace: "default", Name: "y"}
	require.NotSame(t, strange, reserve(strange, nameless), "the volume of another claim")
	require.Equal(t, "yes", volumes[0].Annotations[annBoundByController])
	require.Empty(t, volumes[1].Annotations, "a user has named the claim")
	for _, pv := range volumes {
		require.Equal(t, c.UID, pv.Spec.ClaimRef.UID)
	}
	require.Len(t, claims, 1)
	require.Equal(t, "n1", claims[0].Annotations[AnnSelectedNode])
	require.True(t, Decision{Node: "n1"}.Empty())
	require.False(t, Decision{Provision: []*v1.PersistentVolumeClaim{c}}.Empty())
	require.False(t, Decision{Bind: []Match{{c, free}}}.Empty())
}

// Texts of faults keep their numbers. Beyond the limit all new texts share the last number.
func TestFaults(t *testing.T) {
	var f faults
	for k := range maxFaults + 3 {
		require.Equal(t, resources.Verdict(min(k, maxFaults-1)), f.number(fmt.Sprint(k)))
	}
	require.Equal(t, resources.Verdict(7), f.number("7"))
	require.Equal(t, "7", f.text(7))
	require.Less(t, neighbour+maxFaults-1, resources.Unresolvable, "every number fits a verdict")
}

// The key of a pod has what its volumes ask for; of pods that ask for nothing the namespace does not matter.
func TestAppendKey(t *testing.T) {
	local := v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}
	other := func(p *v1.Pod) *v1.Pod { p.Namespace = "other"; return p }
	key := func(p *v1.Pod) string { return string(podkey.Volumes([]byte("x"), p)) }
	require.Equal(t, key(pod("p")), key(other(inline(pod("q"), local))))
	require.NotEqual(t, key(pod("p", "c")), key(other(pod("p", "c"))))
	require.Equal(t, key(pod("p", "c")), key(inline(pod("q", "c"), local)))
	require.NotEqual(t, key(pod("p", "c")), key(pod("p", "d")))
	require.NotEqual(t, key(ephemeral(pod("p"), "e")), key(ephemeral(pod("p"), "f")))
	require.NotEqual(t, key(ephemeral(pod("p"), "e")), key(ephemeral(pod("q"), "e")), "the claim belongs to the pod")
	reborn := ephemeral(pod("p"), "e")
	reborn.UID = "later"
	require.NotEqual(t, key(ephemeral(pod("p"), "e")), key(reborn))
	require.Equal(t, byte('x'), key(pod("p", "c"))[0])
	for _, s := range []v1.VolumeSource{local, {EmptyDir: &v1.EmptyDirVolumeSource{}}, {Secret: &v1.SecretVolumeSource{}}, {Projected: &v1.ProjectedVolumeSource{}},
		{DownwardAPI: &v1.DownwardAPIVolumeSource{}}, {HostPath: &v1.HostPathVolumeSource{}}} {
		require.True(t, Ignores(inline(pod("p"), s)))
		require.False(t, Ignores(inline(pod("p", "c"), s)))
	}
}

// Drivers are counted each for itself, in the order of their names, and the first fault in the order of volumes is told.
func TestLimitsOfManyDrivers(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, csiNodes: []*storagev1.CSINode{csiNode("n1", map[string]int32{"a": 9, "b": 1, "c": 9, "d": 9, "e": -1})}}
	p := pod("p")
	for k, driver := range []string{"c", "a", "d", "b", "a", "e", "c", "a", "b"} {
		name := fmt.Sprint("v", k)
		w.claims = append(w.claims, claim(name, "", "1Gi", boundTo(name)))
		w.volumes = append(w.volumes, volume(name, "", "1Gi", func(pv *v1.PersistentVolume) { pv.Spec.CSI.Driver = driver }))
		p.Spec.Volumes = append(p.Spec.Volumes, pod("", name).Spec.Volumes...)
	}
	s := Compile(p, w.objects(), Options{}).Limits().On(NewUsage(w, w.objects()))
	require.Equal(t, []DriverCount{{"a", 0, 3, 9}, {"b", 0, 2, 1}, {"c", 0, 2, 9}, {"d", 0, 1, 9}}, s.Explain(0))
	require.Equal(t, limitExceeded, s.Check(0))

	two := Compile(inline(pod("p"), ebsVolume("aws://z/first", false), ebsVolume("aws://z/second", false)), w.objects(), Options{}).Limits().On(NewUsage(w, w.objects()))
	require.Contains(t, two.(filter.Predicate).(*limitsState).Reasons(two.Check(0))[0], "(aws://z/first)")
	missing := Compile(inline(pod("p", "none", "never"), ebsVolume("aws://z/first", false)), w.objects(), Options{}).limits()
	require.Contains(t, missing.reason, "default/none")
	require.Empty(t, missing.disk, "the missing claim comes first")
}

// In a trial a volume that the usage does not know counts once, however many pods bring it.
func TestLimitsTrialOfNewDisks(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, csiNodes: []*storagev1.CSINode{csiNode("n1", map[string]int32{googlePD.driver: 3})}}
	s := Compile(inline(pod("p"), gcePD("mine", true)), w.objects(), Options{}).Limits().On(NewUsage(w, w.objects()))
	tr := s.NewTrial()
	a, b := inline(pod("a"), gcePD("x", true), gcePD("y", true)), inline(pod("b"), gcePD("y", true), gcePD("x", true))
	for range 2 {
		tr.Add(a, 0)
		tr.Add(b, 0)
		require.Zero(t, tr.Check(0), "two volumes and the pod's own")
		tr.Add(inline(pod("c"), gcePD("z", true)), 0)
		require.Equal(t, limitExceeded, tr.Check(0))
		tr.Remove(inline(pod("c"), gcePD("z", true)), 0)
		tr.Remove(a, 0)
		require.Zero(t, tr.Check(0))
		tr.Reset()
	}
}

// L3.1: v1.37 rejects a node without the drivers that must be there. A node without a CSINode may have in-tree plugins.
func TestRequiredDrivers(t *testing.T) {
	required := func(name string) *storagev1.CSIDriver {
		return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: ptr(true)}}
	}
	w := &world{nodes: []*v1.Node{node("bare"), node("without"), node("with")}, csiNodes: []*storagev1.CSINode{csiNode("without", nil), csiNode("with", map[string]int32{"d": -1, googlePD.driver: -1})},
		claims: claims(claim("c", "", "1Gi", boundTo("pv"))), volumes: volumes(volume("pv", "", "1Gi")), drivers: []*storagev1.CSIDriver{required("d"), required(googlePD.driver)}}
	const missing = " CSI driver is not installed on the node"
	for _, c := range []struct {
		pod  *v1.Pod
		want [3]string
	}{
		{pod("p", "c"), [3]string{"Unschedulable: d" + missing, "Unschedulable: d" + missing, "ok"}},
		{inline(pod("p"), gcePD("disk", false)), [3]string{"ok", "Unschedulable: " + googlePD.driver + missing, "ok"}},
		{inline(pod("p", "c"), gcePD("disk", false)), [3]string{"Unschedulable: d" + missing, "Unschedulable: d" + missing, "ok"}},
	} {
		for i, want := range c.want {
			require.Equal(t, want, verdict(plugins(Compile(c.pod, w.objects(), Options{Release: release.V1_37}), w)[limitsAt], i))
		}
	}
	l := Compile(inline(pod("p", "c"), gcePD("disk", false)), w.objects(), Options{Release: release.V1_37}).limits()
	_, ok := l.On(NewUsage(w, w.objects())).(*limitsState).AppendAlike(nil)
	require.True(t, ok)
	key := func(p *v1.Pod, drivers ...*storagev1.CSIDriver) string {
		x := *w
		x.drivers = drivers
		k, _ := Compile(p, x.objects(), Options{Release: release.V1_37}).limits().On(NewUsage(&x, x.objects())).(*limitsState).AppendAlike(nil)
		return string(k)
	}
	require.NotEqual(t, key(pod("p", "c")), key(pod("p", "c"), required("d")))
	csi := volume("px", "", "1Gi", func(pv *v1.PersistentVolume) { pv.Spec.CSI.Driver = googlePD.driver })
	w.volumes, w.claims = append(w.volumes, csi), append(w.claims, claim("px", "", "1Gi", boundTo("px")))
	require.NotEqual(t, key(pod("p", "px")), key(inline(pod("p"), gcePD("disk", false))), "a volume of the driver needs the driver")
}

// A volume of the CSI driver of Portworx is not an in-tree volume, in v1.35 neither.
func TestPortworxOfTheDriver(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, csiNodes: []*storagev1.CSINode{csiNode("n1", map[string]int32{portworx.driver: 0})},
		claims: claims(claim("c", "", "1Gi", boundTo("pv"))), volumes: volumes(volume("pv", "", "1Gi", func(pv *v1.PersistentVolume) { pv.Spec.CSI.Driver = portworx.driver }))}
	require.Equal(t, tooMany, verdict(plugins(Compile(pod("p", "c"), w.objects(), Options{Release: release.V1_35}), w)[limitsAt], 0))
}

// Objects that a hint does not read are an error, and the hint does not let the pod through.
func TestHintsOfOtherObjects(t *testing.T) {
	self := pod("p", "c")
	for _, hint := range []func(*v1.Pod, any, any) (bool, error){RestrictionsWouldHelp, LimitsWouldHelp, BindingWouldHelp, ZoneWouldHelp} {
		helps, err := hint(self, nil, &v1.Service{})
		require.EqualError(t, err, "objects of an event: got <nil> and *v1.Service, which this hint does not read")
		require.False(t, helps)
		helps, err = hint(self, &v1.Pod{}, &v1.Node{})
		require.Error(t, err)
		require.False(t, helps)
	}
	for _, added := range []any{node("n1"), volume("pv", "", "1Gi")} {
		helps, err := BindingWouldHelp(self, nil, added)
		require.NoError(t, err)
		require.True(t, helps, "%T is added", added)
		helps, err = BindingWouldHelp(self, added, nil)
		require.NoError(t, err)
		require.False(t, helps, "%T is deleted", added)
	}
	zones := func(z string) *v1.PersistentVolume { return volume("pv", "", "1Gi", labelled(v1.LabelTopologyZone, z)) }
	for _, c := range [][2]string{{"a", "a__b"}, {"a__b", "a"}, {"a__b", "a__c"}} {
		helps, err := ZoneWouldHelp(self, zones(c[0]), zones(c[1]))
		require.NoError(t, err)
		require.True(t, helps, "%v", c)
	}
	large := capacityOf("k", "s", "2Gi", nil)
	helps, err := BindingWouldHelp(self, large, capacityOf("k", "s", "", nil))
	require.NoError(t, err)
	require.False(t, helps, "the capacity is not published any more")
	helps, err = BindingWouldHelp(self, capacityOf("k", "s", "", nil), capacityOf("k", "s", "0", nil))
	require.NoError(t, err)
	require.False(t, helps, "no room")
}

// A volume with an affinity that requires nothing is translated by its labels alone.
func TestMigratedVolumeWithoutRequirement(t *testing.T) {
	pv := volume("pv", "", "1Gi", ebs, labelled(zoneLabel, "a"))
	pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{}
	m, err := migrate(pv)
	require.NoError(t, err)
	require.True(t, m.affinity.Matches(node("n", ebsZone, "a")))
	require.False(t, m.affinity.Matches(node("n", ebsZone, "b")))
}

// PreFilter's answers name their plugins.
func TestPreFilterNames(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("c", "", "1Gi", boundTo("pv"), rwop)), volumes: volumes(volume("pv", "", "1Gi", labelled(v1.LabelTopologyZone, "a")))}
	for _, p := range []*v1.Pod{pod("p", "c"), pod("p", "none"), pod("p")} {
		for k, x := range plugins(Compile(p, w.objects(), Options{}), w) {
			require.Equal(t, []string{"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"}[k], x.pre.Plugin)
			if p.Name == "p" && len(p.Spec.Volumes) > 0 && claimNames(p)[0] == "c" {
				require.Equal(t, filter.Success, x.pre.Code)
			}
		}
	}
}

func TestFreeShare(t *testing.T) {
	require.Equal(t, int64(0), shareScore([]storage{{"s", 0, 0}}, shapeOf(Options{})))
	require.Equal(t, int64(100), shareScore([]storage{{"s", 0, 1}}, shapeOf(Options{})))
	require.Equal(t, int64(34), shareScore([]storage{{"s", 2, 3}}, shapeOf(Options{})), "100 - 66")
	require.Equal(t, int64(0), shareScore([]storage{{"s", 3, 3}}, shapeOf(Options{})))
	require.Equal(t, int64(0), shareScore([]storage{{"s", 4, 3}}, shapeOf(Options{})))
	require.Equal(t, int64(45), shareScore([]storage{{"s", 1, 10}, {"t", 9, 8}}, shapeOf(Options{})), "a class that is full counts with 0")
	require.Equal(t, int64(48), shareScore([]storage{{"s", 1, 20}, {"t", 9, 8}}, shapeOf(Options{})), "47.5 is rounded up")
}

// A pod for which the plugin fails leaves a trial, and no other trial and not the cluster. Of two such pods the first explains the failure.
func TestTrialsOfFaultsAreApart(t *testing.T) {
	faulty := func(name string) *v1.Pod { return inline(pod(name), ebsVolume("aws://z/"+name, false)) }
	w := &world{nodes: []*v1.Node{node("n1")}, csiNodes: []*storagev1.CSINode{csiNode("n1", map[string]int32{googlePD.driver: 3})}, pods: [][]*v1.Pod{{faulty("first"), faulty("second")}}}
	s := Compile(inline(pod("p"), gcePD("mine", true)), w.objects(), Options{}).Limits().On(NewUsage(w, w.objects()))
	says := func(v resources.Verdict, disk string) {
		t.Helper()
		require.NotZero(t, v)
		require.Contains(t, s.(filter.Predicate).Reasons(v)[0], "(aws://z/"+disk+")")
	}
	says(s.Check(0), "first")
	one, two := s.NewTrial(), s.NewTrial()
	one.Remove(faulty("first"), 0)
	says(one.Check(0), "second")
	says(s.Check(0), "first")
	two.Remove(faulty("second"), 0)
	two.Remove(faulty("first"), 0)
	two.Add(faulty("third"), 0)
	says(two.Check(0), "third")
	says(one.Check(0), "second")
	one.Remove(faulty("second"), 0)
	require.Zero(t, one.Check(0))
	says(s.Check(0), "first")
}

// A VolumeAttachment counts for its attacher, also when the volume is one of another driver.
func TestForeignAttacher(t *testing.T) {
	attached := func(attacher string) *storagev1.VolumeAttachment {
		return &storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{Attacher: attacher, NodeName: "n1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr("old")}}}
	}
	other := func(pv *v1.PersistentVolume) { pv.Spec.CSI.Driver = "e" }
	for _, c := range []struct {
		attacher, claim string
		full            bool
	}{{"d", "of-d", true}, {"e", "of-d", false}, {"e", "of-e", true}, {"d", "of-e", false}, {"unknown", "of-d", false}} {
		w := &world{nodes: []*v1.Node{node("n1")}, csiNodes: []*storagev1.CSINode{csiNode("n1", map[string]int32{"d": 1, "e": 1})},
			claims:  claims(claim("of-d", "", "1Gi", boundTo("d")), claim("of-e", "", "1Gi", boundTo("e"))),
			volumes: volumes(volume("old", "", "1Gi"), volume("d", "", "1Gi"), volume("e", "", "1Gi", other)), attachments: []*storagev1.VolumeAttachment{attached(c.attacher)}}
		s := Compile(pod("p", c.claim), w.objects(), Options{}).Limits().On(NewUsage(w, w.objects()))
		require.Equal(t, c.full, s.Check(0) == limitExceeded, c)
		require.Equal(t, !c.full, s.Check(0) == 0, c)
	}
}
