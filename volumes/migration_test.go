package volumes

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

const (
	zoneLabel, betaZone     = v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone
	regionLabel, betaRegion = v1.LabelTopologyRegion, v1.LabelFailureDomainBetaRegion
	ebsZone                 = "topology.ebs.csi.aws.com/zone"
)

// ebs makes a volume one of the in-tree EBS plugin.
func ebs(pv *v1.PersistentVolume) {
	pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}
}

func source(s v1.PersistentVolumeSource) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) { pv.Spec.PersistentVolumeSource = s }
}

// requires gives a volume node affinity: each requirement is a term of its own.
func requires(terms ...v1.NodeSelectorRequirement) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) {
		s := &v1.NodeSelector{}
		for _, r := range terms {
			s.NodeSelectorTerms = append(s.NodeSelectorTerms, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{r}})
		}
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: s}
	}
}

func in(key string, values ...string) v1.NodeSelectorRequirement {
	return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}
}

// A node that has migrated the plugin sees a bound volume with the labels of the CSI driver. Every node is in zone a by
// today's label and in zone b by the driver's label. So the volume of zone a is in reach on nodes that read it as written.
func TestMigratedNodes(t *testing.T) {
	labels := []string{zoneLabel, "a", ebsZone, "b"}
	with := func(annotation string, drivers ...string) *world {
		n := csiNode("n1", nil)
		for _, d := range drivers {
			n.Spec.Drivers = append(n.Spec.Drivers, storagev1.CSINodeDriver{Name: d})
		}
		return &world{nodes: []*v1.Node{node("n1", labels...)}, csiNodes: []*storagev1.CSINode{migrating(n, annotation)},
			claims: claims(claim("c", "", "1Gi", boundTo("pv"))), volumes: volumes(volume("pv", "", "1Gi", ebs, on(zoneLabel, "a")))}
	}
	change := func(w *world, f func(*world)) *world { f(w); return w }
	const plugin, driver = "kubernetes.io/aws-ebs", "ebs.csi.aws.com"
	delayed := func(f func(*v1.PersistentVolume)) *world {
		return change(with(plugin, driver), func(w *world) {
			w.claims, w.classes = claims(claim("c", "s", "1Gi")), classes(storageClass("s", noProvisioner, wait))
			w.volumes = volumes(volume("pv", "s", "1Gi", ebs, on(zoneLabel, "a"), f))
		})
	}
	p, ok, away := pod("p", "c"), []string{"ok"}, []string{conflict}
	run(t, bindingAt, []volumeCase{
		{"migrated", "the driver's label counts", with(plugin, driver), p, Options{}, away},
		{"migrated without driver", "the annotation alone decides", with(plugin), p, Options{}, away},
		{"driver without annotation", "the annotation alone decides", with("", driver), p, Options{}, ok},
		{"migrated among others", "it is a list", with("kubernetes.io/gce-pd,"+plugin, driver), p, Options{}, away},
		{"list with a space", "elements are compared as they are", with("kubernetes.io/gce-pd, "+plugin, driver), p, Options{}, ok},
		{"another plugin migrated", "not this volume's", with("kubernetes.io/gce-pd", driver), p, Options{}, ok},
		{"no CSINode", "nothing is migrated", change(with(plugin), func(w *world) { w.csiNodes = nil }), p, Options{}, ok},
		{"CSI volume", "is not of an in-tree kind", change(with(plugin, driver), func(w *world) {
			w.volumes = volumes(volume("pv", "", "1Gi", on(zoneLabel, "a")))
		}), p, Options{}, ok},
		{"volume that waits", "is read as written", delayed(func(*v1.PersistentVolume) {}), p, Options{}, ok},
		{"volume reserved for the claim", "is read as written", delayed(func(pv *v1.PersistentVolume) {
			pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "c"}
		}), p, Options{}, ok},
		{"class of an in-tree provisioner", "its topologies are read as written", change(with(plugin, driver), func(w *world) {
			w.claims = claims(claim("c", "s", "1Gi"))
			w.classes = classes(storageClass("s", plugin, wait, v1.TopologySelectorTerm{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: zoneLabel, Values: []string{"a"}}}}))
		}), p, Options{}, ok},
	})
	w := with(plugin)
	w.volumes[0].Labels[zoneLabel] = "a"
	require.Equal(t, "ok", verdict(plugins(Compile(p, w.objects(), Options{}), w)[zoneAt], 0), "VolumeZone reads nodes as they are labelled")
}

// What volumes ask of nodes that migrated their plugin.
func TestMigratedTerms(t *testing.T) {
	const driver = ebsZone
	exists := func(key string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpExists}
	}
	notIn := v1.NodeSelectorRequirement{Key: zoneLabel, Operator: v1.NodeSelectorOpNotIn, Values: []string{"a"}}
	type test struct {
		name, why string
		volume    *v1.PersistentVolume
		want      []v1.NodeSelectorRequirement // of each term; nil: as written
	}
	testkit.Run(t, []test{
		{"no zone", "nothing to ask", volume("pv", "", "1Gi", ebs), nil},
		{"zone label", "becomes a requirement", volume("pv", "", "1Gi", ebs, labelled(zoneLabel, "a")), []v1.NodeSelectorRequirement{in(driver, "a")}},
		{"beta zone label", "as well", volume("pv", "", "1Gi", ebs, labelled(betaZone, "a")), []v1.NodeSelectorRequirement{in(driver, "a")}},
		{"both zone labels", "today's counts", volume("pv", "", "1Gi", ebs, labelled(zoneLabel, "a", betaZone, "b")), []v1.NodeSelectorRequirement{in(driver, "a")}},
		{"empty zone label beside a beta one", "today's counts and says nothing", volume("pv", "", "1Gi", ebs, labelled(zoneLabel, "", betaZone, "b")), nil},
		{"several zones", "any of them; empty parts are left out", volume("pv", "", "1Gi", ebs, labelled(zoneLabel, "a__ b ____")), []v1.NodeSelectorRequirement{in(driver, "a", "b")}},
		{"region label", "is not asked for", volume("pv", "", "1Gi", ebs, labelled(regionLabel, "r")), nil},
		{"zone in the affinity", "is asked of the driver's label, whatever the operator", volume("pv", "", "1Gi", ebs, requires(in(zoneLabel, "a"), notIn)),
			[]v1.NodeSelectorRequirement{in(driver, "a"), {Key: driver, Operator: v1.NodeSelectorOpNotIn, Values: []string{"a"}}}},
		{"beta zone in the affinity", "as well", volume("pv", "", "1Gi", ebs, requires(in(betaZone, "a"))), []v1.NodeSelectorRequirement{in(driver, "a")}},
		{"both zone keys in the affinity", "today's alone", volume("pv", "", "1Gi", ebs, requires(in(zoneLabel, "a"), in(betaZone, "a"))),
			[]v1.NodeSelectorRequirement{in(driver, "a"), in(betaZone, "a")}},
		{"zone in label and affinity", "the affinity counts", volume("pv", "", "1Gi", ebs, labelled(zoneLabel, "b"), requires(in(zoneLabel, "a"))), []v1.NodeSelectorRequirement{in(driver, "a")}},
		{"zone without values", "stays when no requirement on the zone has values", volume("pv", "", "1Gi", ebs, requires(exists(zoneLabel))), nil},
		{"zone with and without values", "all become the driver's", volume("pv", "", "1Gi", ebs, requires(exists(zoneLabel), in(zoneLabel, "a"))), []v1.NodeSelectorRequirement{exists(driver), in(driver, "a")}},
		{"beta region in the affinity", "becomes today's where the zone is beta", volume("pv", "", "1Gi", ebs, requires(in(betaZone, "a"), in(betaRegion, "r"))),
			[]v1.NodeSelectorRequirement{in(driver, "a"), in(regionLabel, "r")}},
		{"beta region alone", "stays", volume("pv", "", "1Gi", ebs, requires(in(betaRegion, "r"))), nil},
		{"GCE disk", "has its driver's label", volume("pv", "", "1Gi", source(v1.PersistentVolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "d"}}), labelled(zoneLabel, "a")),
			[]v1.NodeSelectorRequirement{in("topology.gke.io/zone", "a")}},
		{"Cinder volume", "has its driver's label", volume("pv", "", "1Gi", source(v1.PersistentVolumeSource{Cinder: &v1.CinderPersistentVolumeSource{VolumeID: "v"}}), labelled(zoneLabel, "a")),
			[]v1.NodeSelectorRequirement{in("topology.cinder.csi.openstack.org/zone", "a")}},
		{"Azure disk", "is read as written", volume("pv", "", "1Gi", source(v1.PersistentVolumeSource{AzureDisk: &v1.AzureDiskVolumeSource{DataDiskURI: "u"}}), labelled(zoneLabel, "a")), nil},
		{"Azure file", "is read as written", volume("pv", "", "1Gi", source(v1.PersistentVolumeSource{AzureFile: &v1.AzureFilePersistentVolumeSource{}}), labelled(zoneLabel, "a")), nil},
		{"Portworx volume", "is read as written", volume("pv", "", "1Gi", source(v1.PersistentVolumeSource{PortworxVolume: &v1.PortworxVolumeSource{VolumeID: "v"}}), labelled(zoneLabel, "a")), nil},
		{"vSphere volume", "is read as written", volume("pv", "", "1Gi", source(v1.PersistentVolumeSource{VsphereVolume: &v1.VsphereVirtualDiskVolumeSource{}}), labelled(zoneLabel, "a")), nil},
	}, func(t *testing.T, c test) {
		m, err := migrate(c.volume)
		require.NoError(t, err)
		require.Equal(t, c.want == nil, m == nil)
		if m == nil {
			return
		}
		terms, _ := m.kind.terms(c.volume)
		var got []v1.NodeSelectorRequirement
		for _, term := range terms {
			got = append(got, term.MatchExpressions...)
		}
		require.Equal(t, c.want, got)
	})
	two := volume("pv", "", "1Gi", ebs, labelled(zoneLabel, "a"), requires(in("rack", "1"), in("rack", "2")))
	terms, changed := awsEBS.terms(two)
	require.True(t, changed)
	require.Equal(t, []v1.NodeSelectorTerm{
		{MatchExpressions: []v1.NodeSelectorRequirement{in("rack", "1"), in(driver, "a")}}, {MatchExpressions: []v1.NodeSelectorRequirement{in("rack", "2"), in(driver, "a")}},
	}, terms, "a label is asked for in every term")
	require.Len(t, two.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions, 1, "the volume is not written to")
}

func TestMigratedExplain(t *testing.T) {
	const text = "node(s) didn't match PersistentVolume's node affinity"
	w := &world{
		nodes:    []*v1.Node{node("n1", zoneLabel, "a"), node("n2", zoneLabel, "b"), node("n3", zoneLabel, "b", ebsZone, "a")},
		csiNodes: []*storagev1.CSINode{migrating(csiNode("n1", nil), "kubernetes.io/aws-ebs"), csiNode("n2", nil), migrating(csiNode("n3", nil), "kubernetes.io/aws-ebs")},
		claims:   claims(claim("c", "", "1Gi", boundTo("pv"))), volumes: volumes(volume("pv", "", "1Gi", ebs, on(zoneLabel, "a"))),
	}
	e := Compile(pod("p", "c"), w.objects(), Options{}).binding()
	require.Equal(t, []string{"label:" + ebsZone, "label:" + zoneLabel, "name"}, e.reads(nil), "the CSINode goes by the node's name")
	s := e.On(w)
	require.Equal(t, []ClaimProblem{{Claim: "c", Volume: "pv", Reason: text, ZoneLabel: ebsZone}}, s.Explain(0), "zone a by today's label does not count there")
	require.Equal(t, []ClaimProblem{{Claim: "c", Volume: "pv", Reason: text}}, s.Explain(1))
	require.Empty(t, s.Explain(2))
	_, ok := s.Bindings(0)
	require.False(t, ok)
	_, ok = s.Bindings(2)
	require.True(t, ok)
}

// A volume whose in-tree name the driver cannot read makes the plugin fail on the nodes that have migrated it.
func TestMigratedUnreadable(t *testing.T) {
	broken := func(id string) func(*v1.PersistentVolume) {
		return source(v1.PersistentVolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: id}})
	}
	zones := source(v1.PersistentVolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "d"}})
	w := &world{
		nodes:    []*v1.Node{node("n1"), node("n2"), node("n3")},
		csiNodes: []*storagev1.CSINode{migrating(csiNode("n1", nil), "kubernetes.io/aws-ebs"), migrating(csiNode("n2", nil), "kubernetes.io/gce-pd,kubernetes.io/azure-disk")},
		claims:   claims(claim("a", "", "1Gi", boundTo("va")), claim("b", "", "1Gi", boundTo("vb")), claim("s", "wait", "1Gi")),
		volumes:  volumes(volume("va", "", "1Gi", broken("aws://z/disk")), volume("vb", "", "1Gi", zones, labelled(zoneLabel, "a__b"))),
		classes:  classes(storageClass("wait", noProvisioner, wait)),
	}
	const ebsText = "could not translate pv: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://z/disk)"
	const gceText = "could not translate pv: failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: a"
	p := pod("p", "s", "a", "b")
	for i, want := range []string{"Error: " + ebsText, "Error: " + gceText, noneToBind} {
		require.Equal(t, want, verdict(plugins(Compile(p, w.objects(), Options{}), w)[bindingAt], i))
	}
	w.claims = append(w.claims, claim("unread", "wait", "1Gi", func(c *v1.PersistentVolumeClaim) {
		c.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Bad"}}}
	}))
	require.Equal(t, "Error: "+ebsText, verdict(plugins(Compile(pod("p", "a", "unread"), w.objects(), Options{}), w)[bindingAt], 0), "the first failure")
	s := Compile(p, w.objects(), Options{}).Binding().On(w)
	require.Equal(t, []ClaimProblem{{Claim: "a", Volume: "va", Reason: ebsText}}, s.Explain(0), "nothing is decided after a failure")
	require.Equal(t, []ClaimProblem{{Claim: "b", Volume: "vb", Reason: gceText}}, s.Explain(1))

	blob := v1.AzureDedicatedBlobDisk
	w.claims = claims(claim("z", "", "1Gi", boundTo("vz")))
	w.volumes = volumes(volume("vz", "", "1Gi", source(v1.PersistentVolumeSource{AzureDisk: &v1.AzureDiskVolumeSource{Kind: &blob}})))
	disk := plugins(Compile(pod("p", "z"), w.objects(), Options{}), w)[bindingAt]
	require.Equal(t, "ok", verdict(disk, 0), "n1 does not use the driver")
	require.Equal(t, "Error: could not translate pv: kind(Dedicated) is not supported in csi migration", verdict(disk, 1))
}

// A volume's node affinity does not match the node's name.
func TestVolumeFieldsDoNotRestrict(t *testing.T) {
	field := func(pv *v1.PersistentVolume) {
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchFields: []v1.NodeSelectorRequirement{in("metadata.name", "elsewhere")}}}}}
	}
	w := &world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("b", "", "1Gi", boundTo("vb")), claim("s", "wait", "1Gi")),
		volumes: volumes(volume("vb", "", "1Gi", field), volume("vs", "wait", "1Gi", field)), classes: classes(storageClass("wait", noProvisioner, wait))}
	require.Equal(t, "ok", verdict(plugins(Compile(pod("p", "b", "s"), w.objects(), Options{}), w)[bindingAt], 0))
}
