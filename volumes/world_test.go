package volumes

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
)

// world is a cluster over slices with its storage objects.
type world struct {
	nodes       []*v1.Node
	pods        [][]*v1.Pod
	claims      []*v1.PersistentVolumeClaim
	volumes     []*v1.PersistentVolume
	classes     []*storagev1.StorageClass
	csiNodes    []*storagev1.CSINode
	drivers     []*storagev1.CSIDriver
	capacities  []*storagev1.CSIStorageCapacity
	attachments []*storagev1.VolumeAttachment
}

func (w *world) Len() int            { return len(w.nodes) }
func (w *world) Node(i int) *v1.Node { return w.nodes[i] }
func (w *world) Pods(i int) iter.Seq[*v1.Pod] {
	if i >= len(w.pods) {
		return slices.Values([]*v1.Pod(nil))
	}
	return slices.Values(w.pods[i])
}

func (w *world) put(i int, pods ...*v1.Pod) *world {
	for len(w.pods) <= i {
		w.pods = append(w.pods, nil)
	}
	w.pods[i] = append(w.pods[i], pods...)
	return w
}

func (w *world) objects() Objects {
	return Objects{
		Claims: List(w.claims...), PersistentVolumes: List(w.volumes...), StorageClasses: List(w.classes...), CSINodes: List(w.csiNodes...),
		CSIDrivers: List(w.drivers...), CSIStorageCapacities: List(w.capacities...), VolumeAttachments: List(w.attachments...),
	}
}

func ptr[T any](v T) *T { return &v }

func node(name string, labels ...string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for k := 0; k+1 < len(labels); k += 2 {
		n.Labels[labels[k]] = labels[k+1]
	}
	return n
}

// pod has a volume for each claim.
func pod(name string, claims ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("pod-" + name)}}
	for _, c := range claims {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "v-" + c, VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: c}}})
	}
	return p
}

func inline(p *v1.Pod, sources ...v1.VolumeSource) *v1.Pod {
	for _, s := range sources {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "inline", VolumeSource: s})
	}
	return p
}

func ephemeral(p *v1.Pod, name string) *v1.Pod {
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}})
	return p
}

// claim asks for size of a class; "" is a claim without class.
func claim(name, class, size string, change ...func(*v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
	c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("claim-" + name), Annotations: map[string]string{}}}
	c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	if class != "" {
		c.Spec.StorageClassName = &class
	}
	if size != "" {
		c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)}
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func boundTo(volume string) func(*v1.PersistentVolumeClaim) {
	return func(c *v1.PersistentVolumeClaim) {
		c.Spec.VolumeName = volume
		c.Annotations[annBindCompleted] = "yes"
	}
}

func rwop(c *v1.PersistentVolumeClaim) {
	c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
}

func ownedBy(p *v1.Pod) func(*v1.PersistentVolumeClaim) {
	return func(c *v1.PersistentVolumeClaim) {
		c.OwnerReferences = []metav1.OwnerReference{{UID: p.UID, Controller: ptr(true)}}
	}
}

// volume is an available CSI volume "handle-<name>" of driver "d".
func volume(name, class, size string, change ...func(*v1.PersistentVolume)) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	pv.Spec.StorageClassName = class
	pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	pv.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)}
	pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "handle-" + name}
	pv.Status.Phase = v1.VolumeAvailable
	for _, f := range change {
		f(pv)
	}
	return pv
}

// on restricts a volume to nodes with a label value.
func on(key string, values ...string) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) {
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}}}}}}
	}
}

func labelled(pairs ...string) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) {
		for k := 0; k+1 < len(pairs); k += 2 {
			pv.Labels[pairs[k]] = pairs[k+1]
		}
	}
}

func storageClass(name, provisioner string, mode *storagev1.VolumeBindingMode, topologies ...v1.TopologySelectorTerm) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: mode, AllowedTopologies: topologies}
}

var (
	wait = ptr(storagev1.VolumeBindingWaitForFirstConsumer)
	now  = ptr(storagev1.VolumeBindingImmediate)
)

func csiNode(name string, limits map[string]int32) *storagev1.CSINode {
	n := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	var names []string
	for d := range limits {
		names = append(names, d)
	}
	slices.Sort(names)
	for _, d := range names {
		driver := storagev1.CSINodeDriver{Name: d}
		if limits[d] >= 0 {
			driver.Allocatable = &storagev1.VolumeNodeResources{Count: ptr(limits[d])}
		}
		n.Spec.Drivers = append(n.Spec.Drivers, driver)
	}
	return n
}

// migrating makes a CSINode that lists in-tree plugins as migrated.
func migrating(n *storagev1.CSINode, plugins string) *storagev1.CSINode {
	n.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: plugins}
	return n
}

func attached(name, node, volume string) *storagev1.VolumeAttachment {
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	a.Spec.Attacher, a.Spec.NodeName, a.Spec.Source.PersistentVolumeName = "d", node, &volume
	return a
}

func capacityOf(name, class, amount string, topology map[string]string) *storagev1.CSIStorageCapacity {
	c := &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system"}, StorageClassName: class}
	if topology != nil {
		c.NodeTopology = &metav1.LabelSelector{MatchLabels: topology}
	}
	if amount != "" {
		c.Capacity = ptr(resource.MustParse(amount))
	}
	return c
}

func driver(name string, publishes bool) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &publishes}}
}

// plugin has the methods that the four evaluators share.
type plugin struct {
	pre   filter.PreFilterResult
	count func() filter.Predicate
}

func plugins(p *Pod, c filter.Cluster) []plugin {
	r, l, b, z := p.Restrictions(), p.Limits(), p.Binding(), p.Zone()
	return []plugin{
		{r.PreFilter(), func() filter.Predicate { return r.On(NewUsage(c, p.objects)) }}, {l.PreFilter(), func() filter.Predicate { return l.On(NewUsage(c, p.objects)) }},
		{b.PreFilter(), func() filter.Predicate { return b.On(c) }}, {z.PreFilter(), func() filter.Predicate { return z.On(c) }},
	}
}

// verdict returns "ok", "skip", or "<code>: <reasons>" of one plugin on slot i; a PreFilter answer begins with "pod ".
func verdict(p plugin, i int) string {
	switch p.pre.Code {
	case filter.Skip:
		return "skip"
	case filter.Success:
	default:
		return "pod " + p.pre.Code.String() + ": " + strings.Join(p.pre.Reasons, ", ")
	}
	ps := filter.Predicates{p.count()}
	r := ps.First(i)
	if r.Verdict == 0 {
		return "ok"
	}
	return ps.Code(r).String() + ": " + strings.Join(ps.Reasons(r, i), ", ")
}

type volumeCase struct {
	name, why string
	world     *world
	pod       *v1.Pod
	options   Options
	want      []string // of each slot
}

const (
	restrictionsAt = iota
	limitsAt
	bindingAt
	zoneAt
)

func run(t *testing.T, at int, cases []volumeCase) {
	t.Helper()
	testkit.Run(t, cases, func(t *testing.T, c volumeCase) {
		if c.world.nodes == nil {
			c.world.nodes = []*v1.Node{node("n1")}
		}
		var got []string
		for i := range c.world.nodes {
			got = append(got, verdict(plugins(Compile(c.pod, c.world.objects(), c.options), c.world)[at], i))
		}
		require.Equal(t, c.want, got)
	})
}
