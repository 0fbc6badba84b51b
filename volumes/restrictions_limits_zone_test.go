package volumes

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

const (
	diskUsed = "Unschedulable: node(s) had no available disk"
	podUsed  = "Unschedulable: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
	tooMany  = "Unschedulable: node(s) exceed max volume count"
	zoneAway = "UnschedulableAndUnresolvable: node(s) had no available volume zone"
)

func gcePD(name string, readOnly bool) v1.VolumeSource {
	return v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: name, ReadOnly: readOnly}}
}

func ebsVolume(id string, readOnly bool) v1.VolumeSource {
	return v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: id, ReadOnly: readOnly}}
}

func iscsi(iqn, portal string, readOnly bool) v1.VolumeSource {
	return v1.VolumeSource{ISCSI: &v1.ISCSIVolumeSource{IQN: iqn, TargetPortal: portal, ReadOnly: readOnly}}
}

func rbd(pool, image string, readOnly bool, monitors ...string) v1.VolumeSource {
	return v1.VolumeSource{RBD: &v1.RBDVolumeSource{RBDPool: pool, RBDImage: image, CephMonitors: monitors, ReadOnly: readOnly}}
}

func TestRestrictions(t *testing.T) {
	nodes := []*v1.Node{node("n1"), node("n2")}
	beside := func(a, b v1.VolumeSource) (*world, *v1.Pod) {
		return (&world{nodes: nodes}).put(0, inline(pod("q"), a)), inline(pod("p"), b)
	}
	disk := func(name, why string, a, b v1.VolumeSource, taken bool) volumeCase {
		w, p := beside(a, b)
		c := volumeCase{name, why, w, p, Options{}, []string{"ok", "ok"}}
		if taken {
			c.want[0] = diskUsed
		}
		return c
	}
	inNamespace := func(p *v1.Pod, ns string) *v1.Pod { p.Namespace = ns; return p }
	run(t, restrictionsAt, []volumeCase{
		{"nothing to restrict", "no inline disk and no ReadWriteOncePod claim", &world{nodes: nodes, claims: claims(claim("c", "", "1Gi"))}, pod("p", "c"), Options{}, []string{"skip", "skip"}},
		{"missing claim", "rejects the pod", &world{}, pod("p", "c"), Options{}, []string{podUU + `persistentvolumeclaim "c" not found`}},
		{"ephemeral volumes", "are not looked at", &world{}, ephemeral(pod("p"), "x"), Options{}, []string{"skip"}},
		disk("same GCE disk", "may be written by one", gcePD("d", false), gcePD("d", true), true),
		disk("same GCE disk read", "may be read by all", gcePD("d", true), gcePD("d", true), false),
		disk("other GCE disk", "is free", gcePD("d", false), gcePD("e", false), false),
		disk("same EBS volume read", "conflicts even when both read", ebsVolume("v", true), ebsVolume("v", true), true),
		disk("other EBS volume", "is free", ebsVolume("v", false), ebsVolume("w", false), false),
		disk("same ISCSI name", "the portal does not matter", iscsi("q", "a", false), iscsi("q", "b", false), true),
		disk("same ISCSI name read", "may be read by all", iscsi("q", "a", true), iscsi("q", "a", true), false),
		disk("same RBD image", "one monitor in common", rbd("p", "i", false, "m1", "m2"), rbd("p", "i", false, "m2", "m3"), true),
		disk("same RBD image elsewhere", "no monitor in common: another cluster", rbd("p", "i", false, "m1"), rbd("p", "i", false, "m3"), false),
		disk("other RBD pool", "is free", rbd("p", "i", false, "m1"), rbd("r", "i", false, "m1"), false),
		disk("same RBD image read", "may be read by all", rbd("p", "i", true, "m1"), rbd("p", "i", true, "m1"), false),
		disk("two kinds", "never conflict", gcePD("d", false), ebsVolume("d", false), false),
		disk("one volume of two kinds", "is both", v1.VolumeSource{GCEPersistentDisk: gcePD("d", false).GCEPersistentDisk, AWSElasticBlockStore: ebsVolume("v", false).AWSElasticBlockStore}, ebsVolume("v", false), true),
		{"ReadWriteOncePod in use", "every node is rejected, also those that do not run the user",
			(&world{nodes: nodes, claims: claims(claim("c", "", "1Gi", rwop))}).put(0, pod("q", "c")), pod("p", "c"), Options{}, []string{podUsed, podUsed}},
		{"ReadWriteOncePod free", "nobody uses it", &world{nodes: nodes, claims: claims(claim("c", "", "1Gi", rwop))}, pod("p", "c"), Options{}, []string{"ok", "ok"}},
		{"ReadWriteOncePod of another namespace", "the same name, another claim",
			(&world{nodes: nodes, claims: claims(claim("c", "", "1Gi", rwop))}).put(0, inNamespace(pod("q", "c"), "other")), pod("p", "c"), Options{}, []string{"ok", "ok"}},
		{"ReadWriteOnce in use", "does not restrict here",
			(&world{nodes: nodes, claims: claims(claim("c", "", "1Gi"))}).put(0, pod("q", "c")), pod("p", "c"), Options{}, []string{"skip", "skip"}},
		{"disk before claim", "a node with both has the disk's reason",
			(&world{nodes: nodes, claims: claims(claim("c", "", "1Gi", rwop))}).put(0, inline(pod("q", "c"), gcePD("d", false))), inline(pod("p", "c"), gcePD("d", false)), Options{}, []string{diskUsed, podUsed}},
	})
}

// A trial compares the names of claims alone, so that a pod of another namespace seems to use the claim.
func TestRestrictionsTrial(t *testing.T) {
	foreign, user := pod("foreign", "c"), pod("user", "c")
	foreign.Namespace = "other"
	w := (&world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("c", "", "1Gi", rwop))}).put(0, user, foreign)
	s := Compile(pod("p", "c"), w.objects(), Options{}).Restrictions().On(NewUsage(w, w.objects()))
	require.Equal(t, []Holder{{"c", user}}, s.Explain(0))
	tr := s.NewTrial()
	require.Equal(t, claimInUse, tr.Check(0))
	tr.Remove(foreign, 0)
	require.Zero(t, tr.Check(0), "v1.36's slip")
	tr.Reset()
	tr.Remove(user, 0)
	require.Zero(t, tr.Check(0))
	tr.Add(user, 0)
	require.Equal(t, claimInUse, tr.Check(0))

	tr = Compile(pod("p", "c"), w.objects(), Options{CompareNamespaces: true}).Restrictions().On(NewUsage(w, w.objects())).NewTrial()
	tr.Remove(foreign, 0)
	require.Equal(t, claimInUse, tr.Check(0), "option: the namespace counts")
	tr.Remove(user, 0)
	require.Zero(t, tr.Check(0))

	u := NewUsage(w, w.objects())
	u.Remove(foreign, 0)
	require.Equal(t, claimInUse, Compile(pod("p", "c"), w.objects(), Options{}).Restrictions().On(u).Check(0), "a usage knows namespaces")
	u.Remove(user, 0)
	require.Zero(t, Compile(pod("p", "c"), w.objects(), Options{}).Restrictions().On(u).Check(0))

	q := inline(pod("q"), gcePD("d", false), gcePD("e", false)) // it counts once
	disks := Compile(inline(pod("p"), gcePD("d", false), gcePD("e", false)), Objects{}, Options{}).Restrictions().On(NewUsage((&world{nodes: []*v1.Node{node("n1"), node("n2")}}).put(0, q), Objects{}))
	require.Equal(t, []Holder{{"", q}}, disks.Explain(0))
	td := disks.NewTrial()
	require.Equal(t, diskTaken, td.Check(0))
	td.Remove(q, 0)
	require.Zero(t, td.Check(0))
	td.Add(q, 1)
	require.Equal(t, diskTaken, td.Check(1))
}

// portworxOn makes volume a one of in-tree Portworx, and lets a pod run with another. The driver takes one volume.
func portworxOn(x *world, migrated bool) *world {
	x.csiNodes = []*storagev1.CSINode{csiNode("n1", map[string]int32{portworx.driver: 1})}
	if migrated {
		x.csiNodes[0].Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: portworx.plugin}
	}
	for k, id := range []string{"p1", "p2"} {
		x.volumes[k].Spec.CSI, x.volumes[k].Spec.PortworxVolume = nil, &v1.PortworxVolumeSource{VolumeID: id}
	}
	return x.put(0, pod("q", "b"))
}

func TestLimits(t *testing.T) {
	// Claims a to d are bound to volumes of driver d; x is a claim without volume of class s.
	w := func(limit int32, running ...*v1.Pod) *world {
		x := &world{nodes: []*v1.Node{node("n1")}, csiNodes: []*storagev1.CSINode{csiNode("n1", map[string]int32{"d": limit, "e": 0})},
			classes: classes(storageClass("s", "d", wait), storageClass("in-tree", "kubernetes.io/gce-pd", wait))}
		for _, n := range []string{"a", "b", "c", "d"} {
			x.claims = append(x.claims, claim(n, "", "1Gi", boundTo("v"+n)))
			x.volumes = append(x.volumes, volume("v"+n, "", "1Gi"))
		}
		x.claims = append(x.claims, claim("x", "s", "1Gi"), claim("y", "s", "1Gi"), claim("classless", "", "1Gi"), claim("old", "in-tree", "1Gi"), claim("gone", "", "1Gi", boundTo("missing")))
		return x.put(0, running...)
	}
	with := func(x *world, f func(*world)) *world { f(x); return x }
	stale := func(x *world) { x.attachments = append(x.attachments, attached("va", "n1", "vc")) }
	one := pod("q", "a")
	run(t, limitsAt, []volumeCase{
		{"no volumes", "nothing to count", w(2), pod("p"), Options{}, []string{"skip"}},
		{"missing claim", "rejects every node", w(2), pod("p", "none"), Options{}, []string{`UnschedulableAndUnresolvable: looking up PVC default/none: persistentvolumeclaim "none" not found`}},
		{"ephemeral claim of another pod", "an error of the plugin", with(w(2), func(x *world) { x.claims = append(x.claims, claim("p-e", "s", "1Gi")) }), ephemeral(pod("p"), "e"), Options{},
			[]string{"Error: PVC default/p-e was not created for pod default/p (pod is not owner)"}},
		{"one more", "two fit a limit of 2", w(2, one), pod("p", "b"), Options{}, []string{"ok"}},
		{"two more", "three do not", w(2, one), pod("p", "b", "c"), Options{}, []string{tooMany}},
		{"one shared and one more", "a shared volume counts once", w(2, one), pod("p", "a", "b"), Options{}, []string{"ok"}},
		{"only shared", "a full node takes a pod without new volumes", w(1, one), pod("p", "a"), Options{}, []string{"ok"}},
		{"attached without a pod", "it counts", with(w(2, one), stale), pod("p", "b"), Options{}, []string{tooMany}},
		{"attached and wanted", "it counts twice", with(w(2, one), stale), pod("p", "c"), Options{}, []string{tooMany}},
		{"attached and used", "it counts once", with(w(2, pod("q", "c")), stale), pod("p", "b"), Options{}, []string{"ok"}},
		{"attached elsewhere", "other nodes do not count", with(w(2, one), func(x *world) { x.attachments = append(x.attachments, attached("va", "n9", "vc")) }), pod("p", "b"), Options{}, []string{"ok"}},
		{"attachment of an unknown volume", "is not counted", with(w(2, one), func(x *world) {
			x.attachments = append(x.attachments, attached("va", "n1", "nothing"), &storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{NodeName: "n1"}})
		}), pod("p", "b"), Options{}, []string{"ok"}},
		{"no limit", "a driver without a count takes any number", w(-1, one), pod("p", "b", "c", "d"), Options{}, []string{"ok"}},
		{"no CSINode", "any number", with(w(0), func(x *world) { x.csiNodes = nil }), pod("p", "a", "b"), Options{}, []string{"ok"}},
		{"limit 0", "is a limit", w(0), pod("p", "a"), Options{}, []string{tooMany}},
		{"claims without volume", "count by their class's provisioner, each for itself", w(2, pod("q", "x")), pod("p", "y", "a"), Options{}, []string{tooMany}},
		{"the same claim without volume", "counts once", w(1, pod("q", "x")), pod("p", "x"), Options{}, []string{"ok"}},
		{"claim without class", "is not counted", w(0), pod("p", "classless"), Options{}, []string{"ok"}},
		{"volume object missing", "the class counts, and here is none", w(0), pod("p", "gone"), Options{}, []string{"ok"}},
		{"ephemeral claim", "counts as any", with(w(0), func(x *world) { x.claims = append(x.claims, claim("p-e", "s", "1Gi", ownedBy(pod("p")))) }), ephemeral(pod("p"), "e"), Options{}, []string{tooMany}},
		{"in-tree volume in a pod", "counts as its CSI driver's", with(w(2), func(x *world) {
			x.csiNodes = []*storagev1.CSINode{csiNode("n1", map[string]int32{"pd.csi.storage.gke.io": 0})}
		}), inline(pod("p"), gcePD("disk", false)), Options{}, []string{tooMany}},
		{"in-tree volume object", "counts as its CSI driver's", with(w(2), func(x *world) {
			x.csiNodes = []*storagev1.CSINode{csiNode("n1", map[string]int32{"ebs.csi.aws.com": 1})}
			x.volumes[0].Spec.CSI, x.volumes[0].Spec.AWSElasticBlockStore = nil, &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://zone/vol-1"}
			x.put(0, inline(pod("q"), ebsVolume("vol-2", false)))
		}), pod("p", "a"), Options{}, []string{tooMany}},
		{"in-tree volume that its driver cannot know", "the plugin fails on nodes with a CSINode", with(w(2), func(x *world) {
			x.nodes = append(x.nodes, node("n2"))
		}), inline(pod("p"), ebsVolume("aws://z/disk", false)), Options{},
			[]string{"Error: converting volume(inline) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://z/disk)", "ok"}},
		{"running pod's in-tree volume that its driver cannot know", "the plugin fails there for pods with volumes", with(w(2), func(x *world) {
			x.put(0, inline(pod("q"), ebsVolume("aws://z/disk", false)))
		}), pod("p", "a"), Options{},
			[]string{"Error: converting volume(inline) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://z/disk)"}},
		{"such a volume on a node without limits", "is not looked at", with(w(2), func(x *world) {
			x.csiNodes = []*storagev1.CSINode{csiNode("n1", nil)}
			x.put(0, inline(pod("q"), ebsVolume("aws://z/disk", false)))
		}), pod("p", "a"), Options{}, []string{"ok"}},
		{"running pod's ephemeral claim of another owner", "the plugin fails there for pods with volumes", with(w(2), func(x *world) {
			x.claims = append(x.claims, claim("running-v", "s", "1Gi"))
			x.put(0, ephemeral(pod("running"), "v"))
		}), pod("p", "a"), Options{}, []string{"Error: PVC default/running-v was not created for pod default/running (pod is not owner)"}},
		{"running pod's ephemeral claim of its own", "counts", with(w(1), func(x *world) {
			x.claims = append(x.claims, claim("running-v", "s", "1Gi", ownedBy(pod("running"))))
			x.put(0, ephemeral(pod("running"), "v"))
		}), pod("p", "a"), Options{}, []string{tooMany}},
		{"running pod's missing ephemeral claim", "is not counted", w(1, ephemeral(pod("running"), "v")), pod("p", "a"), Options{}, []string{"ok"}},
		{"two faults of a running pod", "the first volume's is printed", with(w(2), func(x *world) {
			x.claims = append(x.claims, claim("running-v", "s", "1Gi"))
			x.put(0, inline(ephemeral(pod("running"), "v"), ebsVolume("aws://z/disk", false)))
		}), pod("p", "a"), Options{}, []string{"Error: PVC default/running-v was not created for pod default/running (pod is not owner)"}},
		{"faults on two nodes", "each node has its own", with(w(2), func(x *world) {
			x.nodes, x.csiNodes = append(x.nodes, node("n2")), append(x.csiNodes, csiNode("n2", map[string]int32{"d": 2}))
			x.put(0, inline(pod("q"), ebsVolume("aws://z/disk", false)))
			x.put(1, inline(pod("r"), ebsVolume("aws://y/disk", false)))
		}), pod("p", "a"), Options{}, []string{
			"Error: converting volume(inline) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://z/disk)",
			"Error: converting volume(inline) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://y/disk)"}},
		{"in-tree volume by two names", "is one volume", with(w(2), func(x *world) {
			x.csiNodes = []*storagev1.CSINode{csiNode("n1", map[string]int32{"ebs.csi.aws.com": 1})}
			x.volumes[0].Spec.CSI, x.volumes[0].Spec.AWSElasticBlockStore = nil, &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://zone/vol-1"}
			x.put(0, inline(pod("q"), ebsVolume("vol-1", false)))
		}), pod("p", "a"), Options{}, []string{"ok"}},
		{"in-tree provisioner", "counts as its CSI driver's", with(w(2), func(x *world) {
			x.csiNodes = []*storagev1.CSINode{csiNode("n1", map[string]int32{"pd.csi.storage.gke.io": 0})}
		}), pod("p", "old"), Options{}, []string{tooMany}},
		{"in-tree provisioner that is not counted", "vSphere's", with(w(2), func(x *world) {
			x.classes[1].Provisioner = "kubernetes.io/vsphere-volume"
			x.csiNodes = []*storagev1.CSINode{csiNode("n1", map[string]int32{"kubernetes.io/vsphere-volume": 0, "csi.vsphere.vmware.com": 0})}
		}), pod("p", "old"), Options{}, []string{"ok"}},
		{"other in-tree kinds", "NFS has no limit", with(w(0), func(x *world) {
			x.volumes[0].Spec.CSI, x.volumes[0].Spec.NFS = nil, &v1.NFSVolumeSource{}
		}), pod("p", "a"), Options{}, []string{"ok"}},
		{"in-tree Portworx", "counts as its CSI driver's", portworxOn(w(2), false), pod("p", "a"), Options{}, []string{tooMany}},
		{"L3.2", "v1.35: it does not count on a node that has not migrated it", portworxOn(w(2), false), pod("p", "a"), Options{Release: release.V1_35}, []string{"ok"}},
		{"L3.2 running", "it leaves room for a volume of the CSI driver", with(portworxOn(w(2), false), func(x *world) {
			x.volumes[0].Spec.PortworxVolume, x.volumes[0].Spec.CSI = nil, &v1.CSIPersistentVolumeSource{Driver: portworx.driver, VolumeHandle: "csi"}
		}), pod("p", "a"), Options{Release: release.V1_35}, []string{"ok"}},
		{"L3.2 migrated", "it counts", portworxOn(w(2), true), pod("p", "a"), Options{Release: release.V1_35}, []string{tooMany}},
		{"L3.2 faulty neighbour", "the plugin reads no pod for a volume that does not count", with(portworxOn(w(2), false), func(x *world) {
			x.claims = append(x.claims, claim("running-v", "s", "1Gi"))
			x.put(0, ephemeral(pod("running"), "v"))
		}), pod("p", "a"), Options{Release: release.V1_35}, []string{"ok"}},
		{"driver not installed up to v1.36", "not checked", with(w(2), func(x *world) {
			x.csiNodes = []*storagev1.CSINode{csiNode("n1", nil)}
			x.drivers = []*storagev1.CSIDriver{{Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: ptr(true)}}}
			x.drivers[0].Name = "d"
		}), pod("p", "a"), Options{Release: release.V1_36}, []string{"ok"}},
		{"driver required", "v1.37: the node must have it", with(w(2), func(x *world) {
			x.csiNodes = []*storagev1.CSINode{csiNode("n1", nil)}
			x.drivers = []*storagev1.CSIDriver{{Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: ptr(true)}}}
			x.drivers[0].Name = "d"
		}), pod("p", "a"), Options{Release: release.V1_37}, []string{"Unschedulable: d CSI driver is not installed on the node"}},
		{"driver required, gate off", "v1.37 without VolumeLimitScaling", with(w(2), func(x *world) {
			x.csiNodes = []*storagev1.CSINode{csiNode("n1", nil)}
			x.drivers = []*storagev1.CSIDriver{{Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: ptr(true)}}}
			x.drivers[0].Name = "d"
		}), pod("p", "a"), Options{WithoutLimitScaling: true}, []string{"ok"}},
	})
}

func TestLimitsExplainAndTrial(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1"), nil}, csiNodes: []*storagev1.CSINode{csiNode("n1", map[string]int32{"d": 2})},
		claims:      claims(claim("a", "", "1Gi", boundTo("va")), claim("b", "", "1Gi", boundTo("vb")), claim("c", "", "1Gi", boundTo("vc"))),
		volumes:     volumes(volume("va", "", "1Gi"), volume("vb", "", "1Gi"), volume("vc", "", "1Gi")),
		attachments: []*storagev1.VolumeAttachment{attached("va", "n1", "vb")}}
	q := pod("q", "a")
	w.put(0, q)
	u := NewUsage(w, w.objects())
	s := Compile(pod("p", "a", "b", "c"), w.objects(), Options{}).Limits().On(u)
	require.Equal(t, []DriverCount{{"d", 2, 2, 2}}, s.Explain(0))
	require.Equal(t, limitExceeded, s.Check(0))
	require.NotZero(t, s.Check(1), "a free slot takes no pod")
	require.Empty(t, s.Explain(1))

	one := Compile(pod("p", "c"), w.objects(), Options{}).Limits().On(u)
	tr := one.NewTrial()
	require.Equal(t, limitExceeded, tr.Check(0))
	tr.Remove(q, 0)
	require.Zero(t, tr.Check(0), "a volume less")
	tr.Add(pod("r", "b"), 0)
	require.Zero(t, tr.Check(0), "the attached volume has a user now")
	tr.Add(q, 0)
	require.Equal(t, limitExceeded, tr.Check(0))
	tr.Add(q, 1)
	require.NotZero(t, tr.Check(1), "a free slot takes no pod in a trial either")
	tr.Remove(q, 0)
	known := len(u.ids)
	tr.Add(inline(pod("new"), gcePD("unknown", false), gcePD("other", false)), 0)
	require.Zero(t, tr.Check(0), "disks of another driver")
	require.Len(t, u.ids, known, "a trial writes nothing to the usage, which others read")
	tr.Remove(inline(pod("new"), gcePD("unknown", false)), 0)
	tr.Reset()
	require.Equal(t, limitExceeded, tr.Check(0))

	u.Remove(q, 0)
	require.Zero(t, one.Check(0), "the state follows the usage")
	require.Equal(t, NewUsage(&world{nodes: w.nodes, csiNodes: w.csiNodes}, w.objects()).slots[0].attaches, u.slots[0].attaches)
	u.Add(q, 0)
	require.Equal(t, limitExceeded, one.Check(0))
}

func TestZone(t *testing.T) {
	const zone, region, beta, betaRegion = v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion
	nodes := []*v1.Node{node("plain"), node("z1", zone, "z1"), node("z3", zone, "z3"), node("beta", beta, "z1"), node("region only", region, "r1")}
	w := func(pairs ...string) *world {
		return &world{nodes: nodes, claims: claims(claim("c", "", "1Gi", boundTo("pv"))), volumes: volumes(volume("pv", "", "1Gi", labelled(pairs...)))}
	}
	p := pod("p", "c")
	skip := []string{"skip", "skip", "skip", "skip", "skip"}
	unbound := func(c *v1.PersistentVolumeClaim, sc ...*storagev1.StorageClass) *world {
		return &world{claims: claims(c), classes: sc}
	}
	run(t, zoneAt, []volumeCase{
		{"no labels", "nothing to compare", w(), p, Options{}, skip},
		{"two zones", "nodes outside both are rejected; nodes without labels never", w(zone, "z1__z2"), p, Options{}, []string{"ok", "ok", zoneAway, zoneAway, zoneAway}},
		{"spaces", "each part is trimmed", w(zone, " z1 __z2"), p, Options{}, []string{"ok", "ok", zoneAway, zoneAway, zoneAway}},
		{"empty part", "the whole label is ignored", w(zone, "z1__"), p, Options{}, skip},
		{"beta volume", "a beta label is met by today's; never the other way round", w(beta, "z1"), p, Options{}, []string{"ok", "ok", zoneAway, "ok", zoneAway}},
		{"zone and region", "both must be met", w(zone, "z1", region, "r1"), p, Options{}, []string{"ok", zoneAway, zoneAway, zoneAway, zoneAway}},
		{"beta region", "as beta zones", w(betaRegion, "r1"), p, Options{}, []string{"ok", zoneAway, zoneAway, zoneAway, "ok"}},
		{"claim without name", "cannot be looked up", &world{}, pod("p", ""), Options{}, []string{podUU + "PersistentVolumeClaim had no name"}},
		{"missing claim", "rejects the pod", &world{}, p, Options{}, []string{podUU + `persistentvolumeclaim "c" not found`}},
		{"missing volume", "rejects the pod", unbound(claim("c", "", "1Gi", boundTo("pv"))), p, Options{}, []string{podUU + `persistentvolume "pv" not found`}},
		{"unbound without class", "rejects the pod", unbound(claim("c", "", "1Gi")), p, Options{}, []string{podUU + "PersistentVolumeClaim had no pv name and storageClass name"}},
		{"class missing", "rejects the pod", unbound(claim("c", "s", "1Gi")), p, Options{}, []string{podUU + `storageclass.storage.k8s.io "s" not found`}},
		{"class without mode", "rejects the pod", unbound(claim("c", "s", "1Gi"), storageClass("s", "d", nil)), p, Options{}, []string{podUU + `VolumeBindingMode not set for StorageClass "s"`}},
		{"waiting claim", "its volume will be chosen with the node", unbound(claim("c", "s", "1Gi"), storageClass("s", "d", wait)), p, Options{}, []string{"skip"}},
		{"immediate claim", "ought to be bound", unbound(claim("c", "s", "1Gi"), storageClass("s", "d", now)), p, Options{}, []string{podUU + "PersistentVolume had no name"}},
		{"ephemeral volumes", "are not looked at", &world{}, ephemeral(pod("p"), "x"), Options{}, []string{"skip"}},
	})
	s := Compile(p, w(zone, "z1__z2", region, "r1").objects(), Options{}).Zone().On(w())
	want := []ZoneConflict{{"pv", zone, []string{"z1", "z2"}}, {"pv", region, []string{"r1"}}}
	got := s.Explain(2)
	require.Equal(t, want, got)
	got[0].Values[0] = "x" // it is the caller's
	require.Equal(t, want, s.Explain(2))
	require.Empty(t, s.Explain(0))
}

func TestHints(t *testing.T) {
	self := ephemeral(inline(pod("p", "c"), gcePD("disk", false), v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "d"}}), "e")
	placedPod := func(p *v1.Pod) *v1.Pod { p.Spec.NodeName = "n"; return p }
	other := func(p *v1.Pod) *v1.Pod { p.Namespace = "other"; return p }
	zoned := func(z string) *v1.PersistentVolume { return volume("pv", "", "1Gi", labelled(v1.LabelTopologyZone, z)) }
	topologies := storageClass("s", "d", wait, v1.TopologySelectorTerm{})
	migrated := csiNode("n", nil)
	migrated.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: "kubernetes.io/gce-pd"}
	va := func(driver string) *storagev1.VolumeAttachment {
		a := attached("a", "n", "pv")
		a.Spec.Attacher = driver
		return a
	}
	foreign, silent, unlimited := claim("c", "", ""), driver("d", true), csiNode("n", map[string]int32{"d": 1})
	foreign.Namespace, silent.Spec.StorageCapacity, unlimited.Spec.Drivers[0].Allocatable.Count = "other", nil, nil
	limit := func(n int32) *storagev1.CSINode { return csiNode("n", map[string]int32{"d": n}) }
	amount := func(a string) *storagev1.CSIStorageCapacity { return capacityOf("k", "s", a, nil) }
	type hint func(pod *v1.Pod, old, new any) (bool, error)
	type test struct {
		name     string
		hint     hint
		pod      *v1.Pod
		old, new any
		want     bool
	}
	testkit.Run(t, []test{
		{"restrictions: pod with the claim deleted", RestrictionsWouldHelp, self, pod("q", "c"), nil, true},
		{"restrictions: pod with the disk deleted", RestrictionsWouldHelp, self, inline(pod("q"), gcePD("disk", false)), nil, true},
		{"restrictions: pod of another namespace deleted", RestrictionsWouldHelp, self, other(pod("q", "c")), nil, false},
		{"restrictions: pod with neither deleted", RestrictionsWouldHelp, self, pod("q", "d"), nil, false},
		{"restrictions: pod updated", RestrictionsWouldHelp, self, pod("q", "c"), pod("q", "c"), false},
		{"restrictions: claim added", RestrictionsWouldHelp, self, nil, claim("c", "", ""), true},
		{"restrictions: other claim added", RestrictionsWouldHelp, self, nil, claim("d", "", ""), false},
		{"restrictions: ephemeral claim added", RestrictionsWouldHelp, self, nil, claim("p-e", "", "", ownedBy(self)), false},
		{"restrictions: node", RestrictionsWouldHelp, self, nil, node("n"), true},

		{"limits: CSINode added", LimitsWouldHelp, self, nil, limit(1), true},
		{"limits: limit grew", LimitsWouldHelp, self, limit(1), limit(2), true},
		{"limits: first limit", LimitsWouldHelp, self, limit(-1), limit(1), true},
		{"limits: limit fell", LimitsWouldHelp, self, limit(2), limit(1), false},
		{"limits: limit removed", LimitsWouldHelp, self, limit(2), limit(-1), false},
		{"limits: pod with claims deleted", LimitsWouldHelp, self, placedPod(pod("q", "x")), nil, true},
		{"limits: pod with a disk deleted", LimitsWouldHelp, self, placedPod(inline(pod("q"), ebsVolume("v", false))), nil, true},
		{"limits: pending pod deleted", LimitsWouldHelp, self, pod("q", "x"), nil, false},
		{"limits: pod without volumes deleted", LimitsWouldHelp, self, placedPod(pod("q")), nil, false},
		{"limits: claim added", LimitsWouldHelp, self, nil, claim("c", "", ""), true},
		{"limits: ephemeral claim added", LimitsWouldHelp, self, nil, claim("p-e", "", "", ownedBy(self)), true},
		{"limits: claim of another owner added", LimitsWouldHelp, self, nil, claim("p-e", "", ""), true},
		{"limits: ephemeral claim of another namespace added", LimitsWouldHelp, other(ephemeral(pod("p"), "e")), nil, claim("p-e", "", ""), false},
		{"limits: attachment deleted", LimitsWouldHelp, self, va("x"), nil, true},
		{"limits: attachment of the disk's driver deleted", LimitsWouldHelp, inline(pod("p"), gcePD("d", false)), va("pd.csi.storage.gke.io"), nil, true},
		{"limits: attachment of another driver deleted", LimitsWouldHelp, inline(pod("p"), gcePD("d", false)), va("x"), nil, false},

		{"binding: node", BindingWouldHelp, self, nil, node("n"), true},
		{"binding: volume", BindingWouldHelp, self, volume("v", "", "1Gi"), volume("v", "", "1Gi"), true},
		{"binding: claim", BindingWouldHelp, self, nil, claim("c", "", ""), true},
		{"binding: ephemeral claim", BindingWouldHelp, self, nil, claim("p-e", "", "", ownedBy(self)), true},
		{"binding: claim of another owner", BindingWouldHelp, self, nil, claim("p-e", "", "", ownedBy(pod("q"))), true},
		{"binding: claim of another owner updated", BindingWouldHelp, self, claim("p-e", "", ""), claim("p-e", "", ""), true},
		{"binding: ephemeral claim of another namespace", BindingWouldHelp, other(ephemeral(pod("p"), "e")), nil, claim("p-e", "", ""), false},
		{"binding: other claim", BindingWouldHelp, self, nil, claim("d", "", ""), false},
		{"binding: class added", BindingWouldHelp, self, nil, storageClass("s", "d", wait), true},
		{"binding: class with other topologies", BindingWouldHelp, self, storageClass("s", "d", wait), topologies, true},
		{"binding: class as before", BindingWouldHelp, self, topologies, topologies, false},
		{"binding: CSINode added", BindingWouldHelp, self, nil, limit(1), true},
		{"binding: plugin migrated", BindingWouldHelp, self, csiNode("n", nil), migrated, true},
		{"binding: limit changed", BindingWouldHelp, self, limit(1), limit(2), false},
		{"binding: driver publishes no more", BindingWouldHelp, self, driver("d", true), driver("d", false), true},
		{"binding: driver begins to publish", BindingWouldHelp, self, driver("d", false), driver("d", true), false},
		{"binding: other driver publishes no more", BindingWouldHelp, self, driver("x", true), driver("x", false), false},
		{"binding: capacity added", BindingWouldHelp, self, nil, amount("1Gi"), true},
		{"binding: capacity grew, the largest volume did not", BindingWouldHelp, self, withMaximum(amount("1Gi"), "1Gi"), withMaximum(amount("2Gi"), "1Gi"), false},
		{"zone: volume with an empty label", ZoneWouldHelp, self, volume("pv", "", "1Gi"), zoned(""), false},
		{"binding: capacity grew", BindingWouldHelp, self, amount("1Gi"), amount("2Gi"), true},
		{"binding: capacity published", BindingWouldHelp, self, amount(""), amount("2Gi"), true},
		{"binding: capacity fell", BindingWouldHelp, self, amount("2Gi"), amount("1Gi"), false},
		{"binding: driver added", BindingWouldHelp, self, nil, driver("d", false), false},
		{"binding: driver deleted", BindingWouldHelp, self, driver("d", true), nil, false},
		{"binding: driver publishes as before", BindingWouldHelp, self, driver("d", true), driver("d", true), false},
		{"binding: driver publishes neither before nor after", BindingWouldHelp, self, driver("d", false), driver("d", false), false},
		{"binding: driver does not say any more", BindingWouldHelp, self, driver("d", true), silent, true},
		{"binding: class deleted", BindingWouldHelp, self, topologies, nil, false},
		{"binding: CSINode deleted", BindingWouldHelp, self, migrated, nil, false},
		{"binding: capacity deleted", BindingWouldHelp, self, amount("1Gi"), nil, false},
		{"binding: the largest volume grew, capacity did not", BindingWouldHelp, self, withMaximum(amount("9Gi"), "1Gi"), withMaximum(amount("9Gi"), "2Gi"), true},

		{"zone: node", ZoneWouldHelp, self, nil, node("n"), true},
		{"zone: volume added", ZoneWouldHelp, self, nil, zoned("a"), true},
		{"zone: volume with other labels", ZoneWouldHelp, self, zoned("a"), zoned("b"), true},
		{"zone: volume with the same zones in other words", ZoneWouldHelp, self, zoned("a__b"), zoned(" b __a__a"), false},
		{"zone: volume with a label that says nothing", ZoneWouldHelp, self, volume("pv", "", "1Gi"), zoned("a__"), false},
		{"zone: volume as before", ZoneWouldHelp, self, zoned("a"), zoned("a"), false},
		{"zone: claim", ZoneWouldHelp, self, nil, claim("c", "", ""), true},
		{"zone: other claim", ZoneWouldHelp, self, nil, claim("d", "", ""), false},
		{"zone: class that waits", ZoneWouldHelp, self, nil, storageClass("s", "d", wait), true},
		{"zone: class that does not", ZoneWouldHelp, self, nil, storageClass("s", "d", now), false},
		{"zone: class without a mode", ZoneWouldHelp, self, nil, storageClass("s", "d", nil), false},
		{"zone: class deleted", ZoneWouldHelp, self, storageClass("s", "d", wait), nil, false},
		{"zone: volume deleted", ZoneWouldHelp, self, zoned("a"), nil, false},
		{"zone: volume with the zone in another label", ZoneWouldHelp, self, volume("pv", "", "1Gi", labelled(v1.LabelFailureDomainBetaZone, "a")), zoned("a"), true},
		{"zone: claim of another namespace", ZoneWouldHelp, self, nil, foreign, false},
		{"zone: claim deleted", ZoneWouldHelp, self, claim("c", "", ""), nil, false},
		{"restrictions: claim of another namespace", RestrictionsWouldHelp, self, nil, foreign, false},
		{"restrictions: claim deleted", RestrictionsWouldHelp, self, claim("c", "", ""), nil, false},
		{"limits: CSINode deleted", LimitsWouldHelp, self, limit(1), nil, false},
		{"limits: limit as before", LimitsWouldHelp, self, limit(2), limit(2), false},
		{"limits: no number in the limit", LimitsWouldHelp, self, nil, unlimited, true},
		{"limits: no number in the limit before", LimitsWouldHelp, self, unlimited, limit(1), true},
		{"limits: attachment added", LimitsWouldHelp, self, nil, va("d"), false},
		{"limits: attachment deleted, volumes that no driver counts", LimitsWouldHelp, inline(pod("p"), v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}), va(""), nil, false},
		{"limits: claim deleted", LimitsWouldHelp, self, claim("c", "", ""), nil, false},
		{"limits: claim with an empty name", LimitsWouldHelp, inline(pod("p"), v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}), nil, claim("", "", ""), false},
		{"limits: pod with local volumes deleted", LimitsWouldHelp, self, placedPod(inline(pod("q"), v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}})), nil, false},
	}, func(t *testing.T, c test) {
		got, err := c.hint(c.pod, c.old, c.new)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
		_, err = c.hint(c.pod, nil, "a string")
		require.Error(t, err)
	})
}

// The hint of NodeVolumeLimits reads the volumes in order and fails at a disk that its driver cannot know.
func TestLimitsHintOfAnUnknownDisk(t *testing.T) {
	deleted := attached("a", "n", "pv")
	deleted.Spec.Attacher = "ebs.csi.aws.com"
	broken, fine := ebsVolume("aws://z/disk", false), ebsVolume("vol-1", false)
	_, err := LimitsWouldHelp(inline(pod("p"), broken, fine), deleted, nil)
	require.EqualError(t, err, "converting volume(inline) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://z/disk)")
	for _, p := range []*v1.Pod{inline(pod("p"), fine, broken), inline(pod("p", "c"), broken)} {
		helps, err := LimitsWouldHelp(p, deleted, nil)
		require.NoError(t, err)
		require.True(t, helps)
	}
}

// A trial fails at a running pod's disk that its driver cannot know, until the pod leaves.
func TestLimitsTrialOfAnUnknownDisk(t *testing.T) {
	x := &world{nodes: []*v1.Node{node("n1")}, csiNodes: []*storagev1.CSINode{csiNode("n1", map[string]int32{"d": 2})}}
	s := Compile(inline(pod("p"), ebsVolume("vol-1", false)), x.objects(), Options{}).Limits().On(NewUsage(x, x.objects()))
	trial, q := s.NewTrial(), inline(pod("q"), ebsVolume("aws://z/disk", false))
	require.Zero(t, trial.Check(0))
	trial.Add(q, 0)
	v := trial.Check(0)
	require.Equal(t, filter.Error, s.Code(v))
	require.Equal(t, []string{"converting volume(inline) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://z/disk)"}, s.Reasons(v))
	trial.Remove(q, 0)
	require.Zero(t, trial.Check(0))
	require.Zero(t, s.Check(0))
}

// The four plugins satisfy the runner's interfaces.
var (
	_ filter.Predicate = (*restrictionsState)(nil)
	_ filter.Predicate = (*limitsState)(nil)
	_ filter.Predicate = (*bindingState)(nil)
	_ filter.Predicate = (*zoneState)(nil)
	_ filter.Coder     = (*limitsState)(nil)
	_ filter.Coder     = (*bindingState)(nil)
	_ filter.Trial     = (*restrictionsTrial)(nil)
	_ filter.Trial     = (*limitsTrial)(nil)
)

// The state skips the pod while none of its ReadWriteOncePod claims is in use.
func TestRestrictionsSkips(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("c", "", "1Gi", rwop))}
	require.True(t, Compile(pod("p", "c"), w.objects(), Options{}).Restrictions().On(NewUsage(w, w.objects())).Skip())
	w.put(0, pod("user", "c"))
	require.False(t, Compile(pod("p", "c"), w.objects(), Options{}).Restrictions().On(NewUsage(w, w.objects())).Skip())
	disk := Compile(inline(pod("p"), gcePD("d", false)), Objects{}, Options{}).Restrictions().On(NewUsage(w, w.objects()))
	require.False(t, disk.Skip(), "a disk written into the pod is always compared")
}

func withMaximum(c *storagev1.CSIStorageCapacity, most string) *storagev1.CSIStorageCapacity {
	q := resource.MustParse(most)
	c.MaximumVolumeSize = &q
	return c
}

// Claims that are being provisioned come before the others, whatever they request.
func TestSelectedClaimsFirst(t *testing.T) {
	large, small := delayedClaim{selected: "n1", request: resource.MustParse("10Gi")}, delayedClaim{request: resource.MustParse("1Gi")}
	require.Negative(t, compareDelayed(large, small))
	require.Positive(t, compareDelayed(small, large))
	require.Zero(t, compareDelayed(large, delayedClaim{selected: "n1"}), "in the order of the pod's volumes")
	require.Negative(t, compareDelayed(small, delayedClaim{request: resource.MustParse("2Gi")}))
}
