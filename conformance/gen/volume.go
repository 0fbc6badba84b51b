package gen

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	driver  = "csi.example.com"
	driver2 = "csi2.example.com"
)

// volumes makes storage classes, drivers, volumes and claims: bound, waiting, lost, of classes that bind at once or late.
func (g *generator) volumes() {
	o := &g.c.Objects
	now, later := storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer
	class := func(name, provisioner string, mode *storagev1.VolumeBindingMode) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: g.meta("", name), Provisioner: provisioner, VolumeBindingMode: mode}
	}
	topology := class("late-zone", driver, &later)
	topology.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{
		{Key: v1.LabelTopologyZone, Values: []string{pick(g, zones), pick(g, zones) + "x"}}}}}
	inTree := class("late-tree", pick(g, InTreePlugins), &later)
	if g.one(2) {
		inTree.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{
			{Key: pick(g, TopologyKeys), Values: []string{pick(g, zones)}}}}}
	}
	o.StorageClasses = append(o.StorageClasses, class("now", driver, &now), class("late", driver, &later), topology,
		class("late2", driver2, &later), class("unset", driver, nil), class("static", "kubernetes.io/no-provisioner", &later), inTree)
	capacity, required := g.one(2), true
	o.CSIDrivers = append(o.CSIDrivers, &storagev1.CSIDriver{ObjectMeta: g.meta("", driver), Spec: storagev1.CSIDriverSpec{StorageCapacity: &capacity}})
	if g.one(2) {
		o.CSIDrivers = append(o.CSIDrivers, &storagev1.CSIDriver{ObjectMeta: g.meta("", driver2)})
	}
	if g.one(3) {
		o.CSIDrivers = append(o.CSIDrivers, &storagev1.CSIDriver{ObjectMeta: g.meta("", pick(g, append(inTreeDrivers, inTree.Provisioner))), Spec: storagev1.CSIDriverSpec{StorageCapacity: &capacity}})
	}
	if g.one(2) { // v1.37 reads it; of several drivers that are missing it names any
		pick(g, o.CSIDrivers).Spec.PreventPodSchedulingIfMissing = &required
	}
	for i := range g.Intn(4) {
		q := resource.MustParse(pick(g, []string{"0", "1Gi", "5Gi", "100Gi"}))
		c := &storagev1.CSIStorageCapacity{ObjectMeta: g.meta("default", fmt.Sprintf("cap%d", i)), StorageClassName: pick(g, []string{"late", "late2", "late-zone", "late-tree"})}
		c.Capacity = &q
		if g.one(3) {
			max := resource.MustParse(pick(g, []string{"1Gi", "2Gi"}))
			c.MaximumVolumeSize = &max
		}
		switch g.Intn(3) {
		case 0:
			c.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelTopologyZone: pick(g, zones)}}
		case 1:
			c.NodeTopology = &metav1.LabelSelector{}
		}
		o.CSIStorageCapacities = append(o.CSIStorageCapacities, c)
	}
	for i := range 2 + g.Intn(5) {
		o.PersistentVolumes = append(o.PersistentVolumes, g.persistentVolume(i))
	}
	for i := range 3 + g.Intn(6) {
		g.claim(pick(g, []string{"default", "default", "n1"}), fmt.Sprintf("c%d", i))
	}
}

func (g *generator) persistentVolume(i int) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{ObjectMeta: g.meta("", fmt.Sprintf("pv%d", i))}
	pv.Spec.StorageClassName = pick(g, []string{"static", "static", "late", "late-tree", "", "now"})
	pv.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse(pick(g, []string{"1Gi", "2Gi", "5Gi"}))}
	pv.Spec.AccessModes = pick(g, [][]v1.PersistentVolumeAccessMode{{v1.ReadWriteOnce}, {v1.ReadWriteOnce, v1.ReadOnlyMany}, {v1.ReadWriteMany}, {v1.ReadWriteOncePod}})
	pv.Spec.VolumeAttributesClassName = g.attributes()
	mode := v1.PersistentVolumeFilesystem
	if g.one(6) {
		mode = v1.PersistentVolumeBlock
	}
	pv.Spec.VolumeMode = &mode
	if g.one(3) {
		pv.Labels = map[string]string{v1.LabelTopologyZone: pick(g, []string{"a", "b", "a__b", "c"})}
	}
	if g.one(8) {
		pv.Labels = map[string]string{v1.LabelFailureDomainBetaZone: pick(g, []string{"a", "b"})}
	}
	if g.one(3) {
		pv.Labels = mergeLabels(pv.Labels, "tier", pick(g, tiers))
	}
	if g.one(2) {
		r := g.nodeRequirement()
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{r}}}}}
	}
	switch g.Intn(6) {
	case 0, 1:
		g.inTree(pv)
	case 2:
		pv.Spec.HostPath = &v1.HostPathVolumeSource{Path: "/x"}
	case 3:
		pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: driver2, VolumeHandle: fmt.Sprintf("h%d", g.Intn(3))}
	default:
		pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: fmt.Sprintf("h%d", i)}
	}
	pv.Status.Phase = v1.VolumeAvailable
	pv.ResourceVersion = "1" // promises are kept by version
	if g.one(12) {
		at := metav1.NewTime(Epoch)
		pv.DeletionTimestamp, pv.Finalizers = &at, []string{"kubernetes.io/pv-protection"}
	}
	return pv
}

// inTree makes a volume one of an in-tree kind, most often with a zone.
func (g *generator) inTree(pv *v1.PersistentVolume) {
	pv.Spec.PersistentVolumeSource = InTreeSource(g.Rand)
	switch g.Intn(4) {
	case 0:
		pv.Labels = mergeLabels(pv.Labels, pick(g, TopologyKeys[:4]), pick(g, []string{"a", "b", "a__b"}))
	case 1:
		for key, value := range ZoneLabels(g.Rand) {
			pv.Labels = mergeLabels(pv.Labels, key, value)
		}
	}
	if g.one(2) {
		pv.Spec.NodeAffinity = VolumeAffinity(g.Rand)
	}
}

func mergeLabels(m map[string]string, k, v string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[k] = v
	return m
}

// ephemeralClaims makes the claims of a pod's ephemeral volumes, most of them: mostly with the pod as their owner, as the
// controller makes them, else with another owner or none.
func (g *generator) ephemeralClaims(p *v1.Pod) {
	for _, v := range p.Spec.Volumes {
		if v.Ephemeral == nil || g.one(4) {
			continue
		}
		c := g.claim(p.Namespace, p.Name+"-"+v.Name)
		if g.one(4) {
			continue
		}
		yes := true
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID, Controller: &yes}
		switch {
		case g.one(6):
			owner.UID += "-before"
		case g.one(12):
			owner.Controller = nil
		}
		c.OwnerReferences = []metav1.OwnerReference{owner}
	}
}

// attributes returns the name of a VolumeAttributesClass, mostly none.
func (g *generator) attributes() *string {
	if !g.one(8) {
		return nil
	}
	name := pick(g, []string{"", "fast", "fast", "slow"})
	return &name
}

// claim makes a claim and sometimes binds it to a volume.
func (g *generator) claim(namespace, name string) *v1.PersistentVolumeClaim {
	o := &g.c.Objects
	c := &v1.PersistentVolumeClaim{ObjectMeta: g.meta(namespace, name)}
	class := pick(g, []string{"static", "static", "late", "late", "late-zone", "late2", "late-tree", "late-tree", "now", "", "gone"})
	if g.one(20) {
		class = "unset" // has no binding mode, which the API server would set
	}
	c.Spec.StorageClassName = &class
	if g.one(25) {
		c.Spec.StorageClassName = nil
	}
	c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{pick(g, []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadWriteOnce, v1.ReadWriteOncePod, v1.ReadWriteMany})}
	if c.Spec.AccessModes[0] == v1.ReadWriteOnce && g.one(4) {
		c.Spec.AccessModes = append(c.Spec.AccessModes, pick(g, []v1.PersistentVolumeAccessMode{v1.ReadOnlyMany, v1.ReadWriteMany}))
	}
	c.Spec.VolumeAttributesClassName = g.attributes()
	c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse(pick(g, []string{"1Gi", "2Gi", "10Gi"}))}
	mode := v1.PersistentVolumeFilesystem
	c.Spec.VolumeMode = &mode
	if g.one(5) {
		c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": pick(g, tiers)}}
	}
	c.Status.Phase = v1.ClaimPending
	c.ResourceVersion = "1"
	if g.one(2) {
		pv := pick(g, o.PersistentVolumes)
		if pv.Spec.ClaimRef == nil {
			c.Spec.VolumeName = pv.Name
			c.Status.Phase = v1.ClaimBound
			c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
			if g.one(8) {
				c.Annotations = nil
			}
			pv.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID}
			pv.Status.Phase = v1.VolumeBound
		}
	} else if g.one(10) {
		c.Spec.VolumeName = "gone"
		c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	}
	if g.one(8) && c.Spec.VolumeName == "" {
		c.Annotations = mergeLabels(c.Annotations, "volume.kubernetes.io/selected-node", pick(g, []string{"node0", "node1"}))
	}
	if g.one(15) {
		c.Status.Phase = v1.ClaimLost
	}
	if g.one(20) {
		at := metav1.NewTime(Epoch)
		c.DeletionTimestamp, c.Finalizers = &at, []string{"kubernetes.io/pvc-protection"}
	}
	o.Claims = append(o.Claims, c)
	return c
}

// csiNodes names the drivers of the nodes, and how many volumes each driver takes.
func (g *generator) csiNodes() {
	for _, n := range g.c.Nodes {
		if g.one(2) {
			g.driverLabels(n)
		}
		if g.one(8) {
			continue
		}
		c := &storagev1.CSINode{ObjectMeta: g.meta("", n.Name)}
		for i, name := range append([]string{driver, driver2}, inTreeDrivers...) {
			if g.one(4) || i > 2 && !g.one(3) {
				continue
			}
			d := storagev1.CSINodeDriver{Name: name, NodeID: n.Name, TopologyKeys: []string{v1.LabelTopologyZone}}
			if g.one(2) {
				count := int32(g.Intn(3))
				d.Allocatable = &storagev1.VolumeNodeResources{Count: &count}
			}
			c.Spec.Drivers = append(c.Spec.Drivers, d)
		}
		if g.one(2) {
			c.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: g.migratedPlugins()}
		}
		g.c.CSINodes = append(g.c.CSINodes, c)
	}
	for i := range g.Intn(3) {
		pv := fmt.Sprintf("pv%d", g.Intn(5))
		a := &storagev1.VolumeAttachment{ObjectMeta: g.meta("", fmt.Sprintf("va%d", i))}
		a.Spec.Attacher, a.Spec.NodeName = driver, fmt.Sprintf("node%d", g.Intn(3))
		a.Spec.Source.PersistentVolumeName = &pv
		a.Status.Attached = true
		g.c.VolumeAttachments = append(g.c.VolumeAttachments, a)
	}
}

// inTreeDrivers are the drivers that serve volumes of in-tree kinds.
var inTreeDrivers = []string{"ebs.csi.aws.com", "pd.csi.storage.gke.io", "cinder.csi.openstack.org", "disk.csi.azure.com", "file.csi.azure.com",
	"pxd.portworx.com", "csi.vsphere.vmware.com"}

// driverLabels gives a node the zone labels of drivers, most often with its own zone.
func (g *generator) driverLabels(n *v1.Node) {
	for _, key := range TopologyKeys[5:] {
		zone, ok := n.Labels[v1.LabelTopologyZone]
		if !ok || g.one(6) {
			zone = pick(g, zones)
		}
		if !g.one(4) {
			n.Labels[key] = zone
		}
	}
}

// migratedPlugins is a list of plugins, sometimes not written as it should be.
func (g *generator) migratedPlugins() string {
	var list []string
	for _, plugin := range InTreePlugins {
		if !g.one(4) {
			list = append(list, plugin)
		}
	}
	return strings.Join(list, pick(g, []string{",", ",", ",", ",", ", "}))
}

// mount gives a pod one to three volumes.
func (g *generator) mount(p *v1.Pod) {
	for i := range 1 + g.Intn(3) {
		v := v1.Volume{Name: fmt.Sprintf("v%d", i)}
		switch g.Intn(13) {
		case 10:
			kind, uri := v1.AzureManagedDisk, "/subscriptions/"
			if g.one(12) { // the API server's default, which the driver does not know
				kind, uri = v1.AzureSharedBlobDisk, "https://"
			}
			v.AzureDisk = &v1.AzureDiskVolumeSource{DiskName: pick(g, tiers), DataDiskURI: uri + pick(g, tiers), Kind: &kind}
		case 11:
			v.Cinder = &v1.CinderVolumeSource{VolumeID: pick(g, tiers), ReadOnly: g.one(2)}
		case 12:
			v.PortworxVolume = &v1.PortworxVolumeSource{VolumeID: pick(g, tiers), ReadOnly: g.one(2)}
		case 0:
			v.EmptyDir = &v1.EmptyDirVolumeSource{}
		case 1:
			v.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: pick(g, tiers), ReadOnly: g.one(2)}
		case 2:
			v.AWSElasticBlockStore = &v1.AWSElasticBlockStoreVolumeSource{VolumeID: g.ebsName(p), ReadOnly: g.one(2)}
		case 3:
			v.ISCSI = &v1.ISCSIVolumeSource{TargetPortal: "10.0.0.1:3260", IQN: pick(g, []string{"iqn.2001-04.com.example:a", "iqn.2001-04.com.example:b"}), ReadOnly: g.one(2)}
		case 4:
			v.RBD = &v1.RBDVolumeSource{CephMonitors: []string{pick(g, tiers)}, RBDImage: "i", RBDPool: pick(g, tiers), ReadOnly: g.one(2)}
		case 5:
			v.Ephemeral = &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{Spec: v1.PersistentVolumeClaimSpec{
				AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
				Resources:   v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}}}}}
		default:
			name := fmt.Sprintf("c%d", g.Intn(8))
			if g.one(20) {
				name = "gone"
			}
			if len(g.c.Claims) > 0 && !g.one(4) {
				c := pick(g, g.c.Claims)
				name, p.Namespace = c.Name, c.Namespace
			}
			v.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: name, ReadOnly: g.one(4)}
		}
		p.Spec.Volumes = append(p.Spec.Volumes, v)
	}
}

// ebsName names an EBS volume, now and then so that no driver can read it.
func (g *generator) ebsName(p *v1.Pod) string {
	if g.one(12) && (strings.HasPrefix(p.Name, "p") || g.one(6)) { // a running one makes its node fail
		return pick(g, []string{"aws://a/disk", "aws://a/b/vol-1"})
	}
	return pick(g, []string{"vol-0", "vol-0", "vol-1", "aws://a/vol-0", "aws:///vol-1"})
}
