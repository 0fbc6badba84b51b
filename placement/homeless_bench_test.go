package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/testkit"
)

// BenchmarkHomeless decides about pods that fit on no node, each with a claim of its own. Between two of them a pod comes to a node. The claim is
//
//	bound      bound to a volume in a zone without nodes
//	waiting    of a class that provides nothing in these zones
//	large      bound, and no node has room
//	free       free to take one of 30 volumes in three zones, and no node has room
//	local      free to take a volume of one node, which 500 nodes have, and no node has room
//	capacity   of a class whose published capacity is too small
//	in-tree    bound to a volume of an in-tree plugin in a zone without nodes
//	used       bound to a volume that a running pod uses, and no node has room
//	limit      the same on a node that reached its limit
//	once       ReadWriteOncePod, and a running pod uses it
//	disk       no claim: a disk that is written into the spec, which a running pod uses, and no node has room
//	devices    for more devices than a node has
//	allocated  allocated on a node that has no room
func BenchmarkHomeless(b *testing.B) {
	for _, kind := range []string{"bound", "waiting", "large", "free", "local", "capacity", "in-tree", "used", "limit", "once", "disk", "devices", "allocated"} {
		for _, nodes := range []int{5_000, 50_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, nodes), func(b *testing.B) { benchmarkHomeless(b, kind, nodes) })
		}
	}
}

// homelessPods is how many claims there are.
const homelessPods = 2000

// homeless has the objects of a kind of BenchmarkHomeless.
type homeless struct {
	cluster.Objects
	kind string
}

func (h *homeless) class(name, provisioner, zone string) {
	c := storageClass(name, provisioner)
	if zone != "" {
		c.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: v1.LabelTopologyZone, Values: []string{zone}}}}}
	}
	h.StorageClasses = append(h.StorageClasses, c)
}

func (h *homeless) node(i int) {
	n := testkit.Node(fmt.Sprintf("node-%d", i)).Zone(string("abc"[i%3])).Capacity("cpu=32,memory=64Gi").Obj()
	h.Nodes = append(h.Nodes, n)
	switch {
	case h.kind == "devices" || h.kind == "allocated":
		h.ResourceSlices = append(h.ResourceSlices, gpuSlice(n.Name, 8))
	case h.kind == "limit" && i < homelessPods:
		one := int32(1)
		h.CSINodes = append(h.CSINodes, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Spec: storagev1.CSINodeSpec{
			Drivers: []storagev1.CSINodeDriver{{Name: "csi.example.com", Allocatable: &storagev1.VolumeNodeResources{Count: &one}}}}})
	case h.kind == "local" && i%10 == 0 && i < 5000:
		pv := disk("pv-"+n.Name, "local", "", "1Gi")
		pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0] = v1.NodeSelectorRequirement{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{n.Name}}
		h.PersistentVolumes = append(h.PersistentVolumes, pv)
	case h.kind == "free" && i < 30:
		h.PersistentVolumes = append(h.PersistentVolumes, disk("pv-"+n.Name, "local", n.Labels[v1.LabelTopologyZone], "1Gi"))
	}
}

func (h *homeless) claim(k int) {
	name := fmt.Sprint("c-", k)
	if class := map[string]string{"waiting": "elsewhere", "free": "local", "local": "local", "capacity": "counted"}[h.kind]; class != "" {
		h.Claims = append(h.Claims, waiting(name, class, "1Gi"))
		return
	}
	switch h.kind {
	case "disk":
		h.Pods = append(h.Pods, withDisks(testkit.Pod("user-"+name).Request("cpu=1").On(h.Nodes[k].Name).Obj(), name))
		return
	case "devices":
		h.ResourceClaims = append(h.ResourceClaims, gpuClaim(name, 9))
		return
	case "allocated":
		c := gpuClaim(name, 1)
		node := h.Nodes[k].Name
		c.Status.Allocation = &resourcev1.AllocationResult{
			Devices:      resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: c.Spec.Devices.Requests[0].Name, Driver: "gpu.example.com", Pool: node, Device: "gpu-0"}}},
			NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}}}}},
		}
		h.ResourceClaims = append(h.ResourceClaims, c)
		return
	}
	c, pv := waiting(name, "fast", "1Gi"), disk("pv-"+name, "fast", map[string]string{"bound": "z", "in-tree": "z"}[h.kind], "1Gi")
	if pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0] == "" {
		pv.Spec.NodeAffinity = nil
	}
	bind(c, pv, "csi.example.com")
	switch h.kind {
	case "in-tree":
		pv.Spec.CSI, pv.Spec.AWSElasticBlockStore = nil, &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-" + name}
	case "once":
		c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
	}
	h.Claims, h.PersistentVolumes = append(h.Claims, c), append(h.PersistentVolumes, pv)
	if h.kind == "used" || h.kind == "limit" || h.kind == "once" {
		h.Pods = append(h.Pods, mounting(testkit.Pod("user-"+name).Request("cpu=1").On(h.Nodes[k].Name).Obj(), name))
	}
}

// withDisks gives a pod disks that are written into its spec.
func withDisks(pod *v1.Pod, names ...string) *v1.Pod {
	for _, name := range names {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-" + name}}})
	}
	return pod
}

// pod returns the pod with that number.
func (h *homeless) pod(n int) *v1.Pod {
	pod := testkit.Pod(fmt.Sprint("pod-", n)).Request("cpu=1")
	switch h.kind {
	case "large", "free", "local", "used", "limit", "disk", "allocated":
		pod = pod.Request("cpu=100")
	}
	claim := mounting
	switch {
	case h.kind == "disk":
		claim = withDisks
	case h.ResourceClaims != nil:
		claim = claiming
	}
	return claim(pod.Obj(), fmt.Sprint("c-", n%homelessPods))
}

func benchmarkHomeless(b *testing.B, kind string, nodes int) {
	h := &homeless{kind: kind}
	h.class("fast", "csi.example.com", "")
	h.class("elsewhere", "csi.example.com", "z")
	h.class("local", "kubernetes.io/no-provisioner", "")
	h.class("counted", "counted.example.com", "")
	yes := true
	h.CSIDrivers = append(h.CSIDrivers, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "counted.example.com"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes}})
	h.DeviceClasses = append(h.DeviceClasses, gpuClass("example.com/gpu"))
	for i := range nodes {
		h.node(i)
	}
	for k := range homelessPods {
		h.claim(k)
	}
	s, err := cluster.New(h.Objects)
	require.NoError(b, err)
	profile := PluginArgs{Devices: tracker.Options{Compiler: models{}}}.Profile()
	profile.Sampling = AllNodes()
	p, err := NewPlacer(s, profile)
	require.NoError(b, err)
	n, m := 0, s.Mark()
	step := func() {
		if d := p.Decide(h.pod(n), Options{}); d.Failure == nil || d.Failure.Err != nil || d.Failure.Message.PreFilter != "" {
			b.Fatal(text(d))
		}
		if err := s.Assume(testkit.Pod(fmt.Sprint("other-", n)).Request("cpu=1").Obj(), n%nodes); err != nil {
			b.Fatal(err)
		}
		n++
	}
	for range 3 { // what is kept is made for the first pods of a kind
		step()
	}
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
	require.True(b, s.Rollback(m))
}
