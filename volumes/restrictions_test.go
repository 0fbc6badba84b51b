package volumes

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// Two volumes conflict when they are of one kind and the same disk, and when they are not both read-only. The same EBS
// volume always conflicts.
func TestSameDisk(t *testing.T) {
	type disk struct {
		kind, id string
		readOnly bool
		source   v1.VolumeSource
	}
	disks := []disk{{"none", "", false, v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	for _, readOnly := range []bool{false, true} {
		for _, id := range []string{"a", "b"} {
			disks = append(disks, disk{"gce", id, readOnly, gcePD(id, readOnly)}, disk{"ebs", id, readOnly, ebsVolume(id, readOnly)}, disk{"iscsi", id, readOnly, iscsi(id, "", readOnly)})
			for _, pool := range []string{"p", "q"} {
				disks = append(disks, disk{"rbd", pool + id, readOnly, rbd(pool, id, readOnly, "m1", "m2")})
			}
		}
	}
	for _, x := range disks {
		for _, y := range disks {
			want := x.kind != "none" && x.kind == y.kind && x.id == y.id && (x.kind == "ebs" || !x.readOnly || !y.readOnly)
			require.Equal(t, want, diskConflict(inline(pod("p"), disks[0].source, x.source), inline(pod("q"), disks[0].source, y.source)), "%v and %v", x, y)
		}
	}
}

// A claim that a pod mounts twice is one claim.
func TestClaimTwice(t *testing.T) {
	require.Equal(t, []string{"c", "d"}, claimNames(pod("p", "c", "d", "c")))
	w := (&world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("c", "", "1Gi", rwop))}).put(0, pod("q", "c", "c"))
	s := Compile(pod("p", "c", "c"), w.objects(), Options{}).Restrictions().On(NewUsage(w, w.objects())).(*restrictionsState)
	require.Equal(t, 1, s.conflicts)
	require.Len(t, s.Explain(0), 1)
}

// A pod that PreFilter rejects is not compared with running pods.
func TestRestrictionsOfRejectedPods(t *testing.T) {
	w := (&world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("c", "", "1Gi", rwop))}).put(0, pod("q", "c"))
	s := Compile(pod("p", "c", "none"), w.objects(), Options{}).Restrictions().On(NewUsage(w, w.objects()))
	require.Zero(t, s.Check(0))
	require.Empty(t, s.Explain(0))
}

// An explanation names the pods of the node with a conflicting disk, and the users of a claim on all nodes. A free slot has
// no pods.
func TestRestrictionsExplain(t *testing.T) {
	holder, harmless, reader := inline(pod("holder", "c"), gcePD("d", false)), pod("harmless", "e"), inline(pod("reader"), gcePD("e", false))
	user, stranger := pod("user", "c"), pod("stranger", "c")
	stranger.Namespace = "other"
	w := (&world{nodes: []*v1.Node{node("n1"), node("n2"), nil}, claims: claims(claim("c", "", "1Gi", rwop), claim("f", "", "1Gi", rwop))}).put(0, harmless, holder, reader).put(1, user, stranger).put(2, holder)
	s := Compile(inline(pod("p", "f", "c"), gcePD("d", false)), w.objects(), Options{}).Restrictions().On(NewUsage(w, w.objects()))
	require.Equal(t, []Holder{{"", holder}, {"c", holder}, {"c", user}}, s.Explain(0))
	require.Equal(t, []Holder{{"c", holder}, {"c", user}}, s.Explain(1))
	require.Equal(t, []Holder{{"c", holder}, {"c", user}}, s.Explain(2))
	require.Equal(t, diskTaken|resources.Unresolvable, s.Check(2))
}

// In a trial each coming or going counts one.
func TestRestrictionsTrialCounts(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("c", "", "1Gi", rwop))}
	a, b := inline(pod("a", "c"), gcePD("d", false)), inline(pod("b", "c"), gcePD("d", false))
	for p, want := range map[*v1.Pod]resources.Verdict{pod("p", "c"): claimInUse, inline(pod("p"), gcePD("d", false)): diskTaken} {
		trial := Compile(p, w.objects(), Options{}).Restrictions().On(NewUsage(w, w.objects())).NewTrial()
		trial.Add(a, 0)
		trial.Add(b, 0)
		require.Equal(t, want, trial.Check(0))
		trial.Remove(a, 0)
		require.Equal(t, want, trial.Check(0))
		trial.Remove(b, 0)
		require.Zero(t, trial.Check(0))
	}
}

// A claim that a pod of the ledger uses beside a running pod is in use once.
func TestUsersOfLedgerCountOnce(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("c", "s", "1Gi", rwop)), classes: classes(storageClass("s", "d", wait))}
	l := NewLedger(w.objects())
	q := pod("q", "c")
	require.NoError(t, assume(l, w, q, 0, Options{}))
	w.put(0, q)
	s := Compile(pod("p", "c"), l.Objects(), Options{}).Restrictions().On(NewUsage(w, l.Objects())).(*restrictionsState)
	require.Equal(t, 1, s.conflicts)
}

// The volume of a claim without volume is known by the claim's namespace and name.
func TestClaimDisk(t *testing.T) {
	w := &world{classes: classes(storageClass("s", "d", wait), storageClass("tree", "kubernetes.io/aws-ebs", wait), storageClass("file", azureFile, wait)),
		volumes: volumes(volume("v", "", "1Gi"))}
	other := claim("c", "s", "1Gi")
	other.Namespace = "other"
	for _, c := range []struct {
		claim          *v1.PersistentVolumeClaim
		want           disk
		translated, ok bool
	}{
		{claim("c", "s", "1Gi"), disk{"d", "\x00-default/c"}, false, true},
		{other, disk{"d", "\x00-other/c"}, false, true},
		{claim("c", "tree", "1Gi"), disk{"ebs.csi.aws.com", "\x00-default/c"}, true, true},
		{claim("c", "s", "1Gi", boundTo("v")), disk{"d", "handle-v"}, false, true},
		{claim("c", "s", "1Gi", boundTo("none")), disk{"d", "\x00-default/c"}, false, true},
		{claim("c", "file", "1Gi"), disk{}, false, false},
		{claim("c", "none", "1Gi"), disk{}, false, false},
		{claim("c", "", "1Gi"), disk{}, false, false},
	} {
		o := w.objects()
		got, translated, ok := o.claimDisk(c.claim)
		require.Equal(t, c.want, got)
		require.Equal(t, []bool{c.translated, c.ok}, []bool{translated, ok})
	}
}

// v1.37 asks for a driver only where the driver says so. The text names the driver that is missing.
func TestMissingDriverIsNamed(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1"), nil}, csiNodes: []*storagev1.CSINode{csiNode("n1", map[string]int32{"a": 9})}}
	p := pod("p")
	for k, name := range []string{"a", "b", "c", "d"} {
		w.claims = append(w.claims, claim(name, "", "1Gi", boundTo(name)))
		w.volumes = append(w.volumes, volume(name, "", "1Gi", func(pv *v1.PersistentVolume) { pv.Spec.CSI.Driver = name }))
		p.Spec.Volumes = append(p.Spec.Volumes, pod("", name).Spec.Volumes...)
		d := driver(name, false)
		d.Spec.PreventPodSchedulingIfMissing = []*bool{ptr(true), nil, ptr(false), ptr(true)}[k]
		w.drivers = append(w.drivers, d)
	}
	require.Equal(t, "Unschedulable: d CSI driver is not installed on the node", verdict(plugins(Compile(p, w.objects(), Options{Release: release.V1_37}), w)[limitsAt], 0))
	unknown := Compile(inline(pod("p"), ebsVolume("aws://z/disk", false)), w.objects(), Options{}).Limits().On(NewUsage(w, w.objects()))
	require.Equal(t, limitExceeded|resources.Unresolvable, unknown.Check(1), "a free slot")
	require.Equal(t, diskUnknown, unknown.Check(0))
}

// Verdicts of VolumeZone, and the labels that a node does not meet.
func TestZoneVerdicts(t *testing.T) {
	const zone, region = v1.LabelTopologyZone, v1.LabelTopologyRegion
	w := &world{nodes: []*v1.Node{node("n1", zone, "z1", region, "r2"), node("n2", zone, "", region, "r1"), nil}, claims: claims(claim("c", "", "1Gi", boundTo("pv"))),
		volumes: volumes(volume("pv", "", "1Gi", labelled(zone, "z1", region, "r1")))}
	z := Compile(pod("p", "c"), w.objects(), Options{}).zone()
	s := z.On(w)
	for i := range w.nodes {
		require.Equal(t, 1|resources.Unresolvable, s.Check(i))
	}
	require.Equal(t, []ZoneConflict{{"pv", region, []string{"r1"}}}, s.Explain(0))
	require.Equal(t, []ZoneConflict{{"pv", zone, []string{"z1"}}}, s.Explain(1), "an empty label is no zone")
	require.Empty(t, s.Explain(2))
	var reads []string
	for _, key := range []string{v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion, zone, region} {
		reads = append(reads, fmt.Sprint("label:", key))
	}
	require.Equal(t, append([]string{"x"}, reads...), z.reads([]string{"x"}))
	require.Equal(t, []string{"x"}, (&zoneFilter{}).reads([]string{"x"}))
}

// Verdicts of VolumeBinding end the search on a node. A pod without claims is allowed everywhere.
func TestBindingVerdicts(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("c", "s", "1Gi")), classes: classes(storageClass("s", noProvisioner, wait))}
	require.Equal(t, noMatch|resources.Unresolvable, Compile(pod("p", "c"), w.objects(), Options{}).Binding().On(w).Check(0))
	require.Zero(t, Compile(pod("p"), w.objects(), Options{}).Binding().On(w).Check(0))
}

// What the claims of each class take, and of what: of the volumes that claims take when there are any, and else of the
// capacities, the last one of a class.
func TestByClass(t *testing.T) {
	of := func(class, request string) *delayedClaim {
		return &delayedClaim{class: storageClass(class, "d", wait), request: resource.MustParse(request)}
	}
	published := func(amount string) *capacity { return &capacity{object: capacityOf("k", "s", amount, nil)} }
	existing := func(size string) *candidate { return &candidate{volume: volume("v", "", size)} }
	require.Empty(t, byClass([]choice{{claim: of("s", "1")}}), "nobody publishes")
	require.Equal(t, []storage{{"s", 3, 9}, {"t", 4, 5}}, byClass([]choice{{of("s", "1"), nil, published("8")}, {of("t", "4"), nil, published("5")}, {of("s", "2"), nil, published("9")}}))
	require.Equal(t, []storage{{"s", 3, 0}}, byClass([]choice{{of("s", "1"), nil, published("8")}, {of("s", "2"), nil, published("")}}))
	require.Equal(t, []storage{{"s", 3, 17}, {"t", 4, 5}}, byClass([]choice{{of("s", "1"), existing("8"), nil}, {of("t", "4"), existing("5"), nil}, {of("s", "2"), existing("9"), nil}, {of("s", "7"), nil, published("70")}, {of("u", "7"), nil, nil}}))
}
