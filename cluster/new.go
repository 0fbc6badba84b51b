package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// Objects has the objects of a cluster for [New]. Every list may be nil. The snapshot keeps the objects and does not copy them:
// callers must not change an object while a snapshot or a fork holds it.
type Objects struct {
	Nodes                  []*v1.Node
	Pods                   []*v1.Pod
	Namespaces             []*v1.Namespace
	Services               []*v1.Service
	ReplicationControllers []*v1.ReplicationController
	ReplicaSets            []*appsv1.ReplicaSet
	StatefulSets           []*appsv1.StatefulSet
	Claims                 []*v1.PersistentVolumeClaim
	PersistentVolumes      []*v1.PersistentVolume
	StorageClasses         []*storagev1.StorageClass
	CSINodes               []*storagev1.CSINode
	CSIDrivers             []*storagev1.CSIDriver
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity
	VolumeAttachments      []*storagev1.VolumeAttachment
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget
	PriorityClasses        []*schedulingv1.PriorityClass
	ResourceClaims         []*resourcev1.ResourceClaim
	ResourceClaimTemplates []*resourcev1.ResourceClaimTemplate
	ResourceSlices         []*resourcev1.ResourceSlice
	DeviceClasses          []*resourcev1.DeviceClass
	DeviceTaintRules       []*resourcev1beta2.DeviceTaintRule
	PodGroups              []*podgroup.Group
	CompositePodGroups     []*podgroup.Composite
	// Release is the release by whose rule pods that are being resized count (rules L4.1 to L4.3). Plans over the snapshot should
	// follow the same release.
	Release release.Version
}

// New returns a snapshot of the objects. Nodes get the slots 0, 1, 2 … in their order. spec.nodeName decides about a pod:
//
//   - A pod on a node of the list comes to the node's slot, terminating pods included.
//   - A pod on any other node is an orphan: Orphans lists it, and no row counts it.
//   - New leaves out finished pods (Succeeded, Failed) and pods without a node.
//
// When New returns an error, the snapshot is nil. The error wraps a *field.Error for each object that New refuses:
//
//   - [field.ErrorTypeRequired]: the object is nil or has no name.
//   - [ErrDuplicate], [field.ErrorTypeDuplicate]: the list has an object with the same namespace and name before it, as in
//     `nodes[3].metadata.name: Duplicate value: "n1"`.
//
// O(objects).
func New(o Objects) (*Snapshot, error) {
	s := &Snapshot{core: core{own: &owner{}, schema: new(resources.Schema), tree: &zoneTree{}, release: o.Release}}
	s.schemaOwn = s.own
	if errs := s.fill(&o); len(errs) > 0 {
		return nil, invalid(errs)
	}
	return s, nil
}

func (s *Snapshot) fill(o *Objects) (errs field.ErrorList) {
	s.nodeIndex.reset(s.own, len(o.Nodes))
	s.index.reset(s.own, len(o.Pods))
	for i, node := range o.Nodes {
		path := field.NewPath("nodes").Index(i)
		if node == nil {
			errs = append(errs, field.Required(path, "a nil node"))
			continue
		}
		if node.Name == "" {
			errs = append(errs, field.Required(path.Child("metadata", "name"), "a node needs a name"))
			continue
		}
		if s.nodeIndex.get(node.Name) >= 0 {
			errs = append(errs, field.Duplicate(path.Child("metadata", "name"), node.Name))
			continue
		}
		s.occupy(s.n, node)
		s.placeInTree(s.n-1, node)
	}
	errs = append(errs, s.fillPods(o.Pods)...)
	t := &s.objects
	return append(errs, join(
		load(s, &t.namespaces, "namespaces", o.Namespaces),
		load(s, &t.services, "services", o.Services),
		load(s, &t.replicationControllers, "replicationControllers", o.ReplicationControllers),
		load(s, &t.replicaSets, "replicaSets", o.ReplicaSets),
		load(s, &t.statefulSets, "statefulSets", o.StatefulSets),
		load(s, &t.claims, "claims", o.Claims),
		load(s, &t.persistentVolumes, "persistentVolumes", o.PersistentVolumes),
		load(s, &t.storageClasses, "storageClasses", o.StorageClasses),
		load(s, &t.csiNodes, "csiNodes", o.CSINodes),
		load(s, &t.csiDrivers, "csiDrivers", o.CSIDrivers),
		load(s, &t.csiStorageCapacities, "csiStorageCapacities", o.CSIStorageCapacities),
		load(s, &t.volumeAttachments, "volumeAttachments", o.VolumeAttachments),
		load(s, &t.podDisruptionBudgets, "podDisruptionBudgets", o.PodDisruptionBudgets),
		load(s, &t.priorityClasses, "priorityClasses", o.PriorityClasses),
		load(s, &t.resourceClaims, "resourceClaims", o.ResourceClaims),
		load(s, &t.resourceClaimTemplates, "resourceClaimTemplates", o.ResourceClaimTemplates),
		load(s, &t.resourceSlices, "resourceSlices", o.ResourceSlices),
		load(s, &t.deviceClasses, "deviceClasses", o.DeviceClasses),
		load(s, &t.deviceTaintRules, "deviceTaintRules", o.DeviceTaintRules),
		load(s, &t.groups, "podGroups", o.PodGroups),
		load(s, &t.composites, "compositePodGroups", o.CompositePodGroups),
	)...)
}

// fillPods finds the slots of all pods first, so that it can allocate every row in its final size.
func (s *Snapshot) fillPods(pods []*v1.Pod) (errs field.ErrorList) {
	at := make([]int32, len(pods))
	room := make([]int32, s.n)
	for i, pod := range pods {
		at[i] = gone
		if pod != nil && pod.Spec.NodeName != "" && !Finished(pod) {
			if at[i] = s.nodeIndex.get(pod.Spec.NodeName); at[i] >= 0 {
				room[at[i]]++
			}
		}
	}
	for slot, n := range room {
		s.row(slot).pods = make([]entry, 0, n)
	}
	out := map[podKey]bool{} // pods that are not on a slot
	for i, pod := range pods {
		if pod == nil {
			errs = append(errs, field.Required(field.NewPath("pods").Index(i), "a nil pod"))
			continue
		}
		if pod.Name == "" {
			errs = append(errs, field.Required(field.NewPath("pods").Index(i).Child("metadata", "name"), "a pod needs a name"))
			continue
		}
		hash, slot := hashOf(pod), int(at[i])
		on, _ := s.seek(hash, pod.Namespace, pod.Name)
		if on >= 0 || len(out) > 0 && out[keyOf(pod)] {
			errs = append(errs, field.Duplicate(field.NewPath("pods").Index(i).Child("metadata", "name"), podinfo.Name(pod)))
			continue
		}
		if slot >= 0 {
			s.insert(pod, hash, s.prepare(pod), slot, len(s.row(slot).pods))
			continue
		}
		out[keyOf(pod)] = true
		if pod.Spec.NodeName != "" && !Finished(pod) {
			s.addOrphan(pod)
		}
	}
	return errs
}

// load fills the table of one kind.
func load[T interface {
	metav1.Object
	comparable
}](s *Snapshot, t *table[T], kind string, list []T) (errs field.ErrorList) {
	var none T
	for i, obj := range list {
		if obj == none {
			errs = append(errs, field.Required(field.NewPath(kind).Index(i), "a nil object"))
			continue
		}
		name := obj.GetName()
		if name == "" {
			errs = append(errs, field.Required(field.NewPath(kind).Index(i).Child("metadata", "name"), "an object needs a name"))
			continue
		}
		if _, had := t.put(s.own, obj.GetNamespace(), name, obj); had {
			errs = append(errs, field.Duplicate(field.NewPath(kind).Index(i).Child("metadata", "name"), nameOf(obj)))
		}
	}
	return errs
}

func join(lists ...field.ErrorList) (all field.ErrorList) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
