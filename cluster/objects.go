package cluster

import (
	"fmt"
	"iter"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/podgroup"
)

// objects are the tables of all kinds except nodes and pods.
type objects struct {
	namespaces             table[*v1.Namespace]
	services               table[*v1.Service]
	replicationControllers table[*v1.ReplicationController]
	replicaSets            table[*appsv1.ReplicaSet]
	statefulSets           table[*appsv1.StatefulSet]
	claims                 table[*v1.PersistentVolumeClaim]
	persistentVolumes      table[*v1.PersistentVolume]
	storageClasses         table[*storagev1.StorageClass]
	csiNodes               table[*storagev1.CSINode]
	csiDrivers             table[*storagev1.CSIDriver]
	csiStorageCapacities   table[*storagev1.CSIStorageCapacity]
	volumeAttachments      table[*storagev1.VolumeAttachment]
	podDisruptionBudgets   table[*policyv1.PodDisruptionBudget]
	priorityClasses        table[*schedulingv1.PriorityClass]
	resourceClaims         table[*resourcev1.ResourceClaim]
	resourceClaimTemplates table[*resourcev1.ResourceClaimTemplate]
	resourceSlices         table[*resourcev1.ResourceSlice]
	deviceClasses          table[*resourcev1.DeviceClass]
	deviceTaintRules       table[*resourcev1beta2.DeviceTaintRule]
	groups                 table[*podgroup.Group]
	composites             table[*podgroup.Composite]
}

// Namespaces yields the namespaces that the snapshot has objects of, by name, with their labels. It leaves out namespaces
// that only occur in the metadata of pods.
func (s *Snapshot) Namespaces() iter.Seq2[string, map[string]string] {
	return func(yield func(string, map[string]string) bool) {
		for ns := range s.objects.namespaces.all() {
			if !yield(ns.Name, ns.Labels) {
				return
			}
		}
	}
}

// Namespace returns the labels of a namespace, and false when the snapshot has no object of the namespace.
func (s *Snapshot) Namespace(name string) (labels map[string]string, ok bool) {
	ns, ok := s.objects.namespaces.get("", name)
	if !ok {
		return nil, false
	}
	return ns.Labels, true
}

// List returns the objects of one kind: List[*v1.Service](snapshot). It panics when T is not the element type of a list of
// [Objects], or is *v1.Node or *v1.Pod: nodes and pods have slots.
func List[T metav1.Object](s *Snapshot) Lookup[T] {
	o := &s.objects
	for _, t := range [...]any{
		&o.services, &o.claims, &o.persistentVolumes, &o.storageClasses, &o.csiNodes, &o.csiDrivers, &o.csiStorageCapacities,
		&o.volumeAttachments, &o.replicationControllers, &o.replicaSets, &o.statefulSets, &o.podDisruptionBudgets,
		&o.priorityClasses, &o.namespaces, &o.resourceClaims, &o.resourceClaimTemplates, &o.resourceSlices, &o.deviceClasses, &o.deviceTaintRules,
		&o.groups, &o.composites,
	} {
		if t, ok := t.(*table[T]); ok {
			return Lookup[T]{t}
		}
	}
	var none T
	panic(fmt.Sprintf("cluster.List: a snapshot has no table of %T", none))
}

// Set adds an object, or replaces the object of its kind, namespace and name. The kinds are those of [Objects].
//
// A new node gets a free slot if there is one, else a new slot at the end, and the orphans that name the node come to it. A
// newer object of a node keeps the node's slot. A pod is taken as a watch reports it:
//
//   - A finished pod ([Finished]) leaves its node.
//   - A pod with spec.nodeName comes to that node, and leaves another node on which it was. A newer object replaces the
//     older object.
//   - A pod whose node is not in the snapshot becomes an orphan.
//   - A pod without spec.nodeName stays where Assume put it. Otherwise the pod is left out: the snapshot holds no pending pods.
//
// An error wraps a *field.Error, and the snapshot has not changed then:
//
//   - [field.ErrorTypeRequired]: obj is nil or has no name.
//   - [field.ErrorTypeNotSupported]: Objects has no list for the type of obj.
//
// O(pods of the node) for a pod, at most O(slots) for a node.
func (s *Snapshot) Set(obj metav1.Object) error {
	switch o := obj.(type) {
	case *v1.Node:
		if o == nil {
			return failed(field.ErrorTypeRequired, "nodes", nil, "a nil node")
		}
		if o.Name == "" {
			return failed(field.ErrorTypeRequired, "nodes.metadata.name", "", "a node needs a name")
		}
		if slot := s.Slot(o.Name); slot >= 0 {
			s.updateNode(slot, o)
		} else {
			s.addNode(o)
		}
		return nil
	case *v1.Pod:
		return s.updatePod(o)
	}
	return s.visit(obj, true)
}

// Remove removes the object that has the kind, namespace and name of obj. Of a pod, Remove also reads the UID.
//
// A removed pod leaves its node or the orphans; so Remove also undoes Assume. A removed node frees its slot, and another node
// may get the slot. Pods with the node's name in spec.nodeName become orphans until they are removed or the node comes back.
// Pods that were only assumed there leave the snapshot.
//
// An error wraps a *field.Error, and the snapshot has not changed then:
//
//   - [field.ErrorTypeRequired]: obj is nil.
//   - [field.ErrorTypeNotFound]: the snapshot has no such object (of a node: [ErrUnknownNode]), or has a pod of that name with
//     another UID.
//   - [field.ErrorTypeNotSupported]: Objects has no list for the type of obj.
func (s *Snapshot) Remove(obj metav1.Object) error {
	switch o := obj.(type) {
	case *v1.Node:
		if o == nil {
			return failed(field.ErrorTypeRequired, "nodes", nil, "a nil node")
		}
		return s.removeNode(o.Name)
	case *v1.Pod:
		if o == nil {
			return failed(field.ErrorTypeRequired, "pods", nil, "a nil pod")
		}
		return s.removePod(o)
	}
	return s.visit(obj, false)
}

// visit finds the table of an object's kind. It puts the object into the table, or removes the object.
func (s *Snapshot) visit(obj metav1.Object, put bool) error {
	t := &s.objects
	switch o := obj.(type) {
	case *v1.Namespace:
		return setOrUnset(s, &t.namespaces, "namespaces", o, put)
	case *v1.Service:
		return setOrUnset(s, &t.services, "services", o, put)
	case *v1.ReplicationController:
		return setOrUnset(s, &t.replicationControllers, "replicationControllers", o, put)
	case *appsv1.ReplicaSet:
		return setOrUnset(s, &t.replicaSets, "replicaSets", o, put)
	case *appsv1.StatefulSet:
		return setOrUnset(s, &t.statefulSets, "statefulSets", o, put)
	case *v1.PersistentVolumeClaim:
		return setOrUnset(s, &t.claims, "claims", o, put)
	case *v1.PersistentVolume:
		return setOrUnset(s, &t.persistentVolumes, "persistentVolumes", o, put)
	case *storagev1.StorageClass:
		return setOrUnset(s, &t.storageClasses, "storageClasses", o, put)
	case *storagev1.CSINode:
		return setOrUnset(s, &t.csiNodes, "csiNodes", o, put)
	case *storagev1.CSIDriver:
		return setOrUnset(s, &t.csiDrivers, "csiDrivers", o, put)
	case *storagev1.CSIStorageCapacity:
		return setOrUnset(s, &t.csiStorageCapacities, "csiStorageCapacities", o, put)
	case *storagev1.VolumeAttachment:
		return setOrUnset(s, &t.volumeAttachments, "volumeAttachments", o, put)
	case *policyv1.PodDisruptionBudget:
		return setOrUnset(s, &t.podDisruptionBudgets, "podDisruptionBudgets", o, put)
	case *schedulingv1.PriorityClass:
		return setOrUnset(s, &t.priorityClasses, "priorityClasses", o, put)
	case *resourcev1.ResourceClaim:
		return setOrUnset(s, &t.resourceClaims, "resourceClaims", o, put)
	case *resourcev1.ResourceClaimTemplate:
		return setOrUnset(s, &t.resourceClaimTemplates, "resourceClaimTemplates", o, put)
	case *resourcev1.ResourceSlice:
		return setOrUnset(s, &t.resourceSlices, "resourceSlices", o, put)
	case *resourcev1beta2.DeviceTaintRule:
		return setOrUnset(s, &t.deviceTaintRules, "deviceTaintRules", o, put)
	case *podgroup.Group:
		return setOrUnset(s, &t.groups, "podGroups", o, put)
	case *podgroup.Composite:
		return setOrUnset(s, &t.composites, "compositePodGroups", o, put)
	case *resourcev1.DeviceClass:
		return setOrUnset(s, &t.deviceClasses, "deviceClasses", o, put)
	}
	return failed(field.ErrorTypeNotSupported, "objects", fmt.Sprintf("%T", obj), "a snapshot has no objects of this type")
}

func setOrUnset[T interface {
	metav1.Object
	comparable
}](s *Snapshot, t *table[T], list string, obj T, put bool) error {
	var none T
	if obj == none {
		return failed(field.ErrorTypeRequired, list, nil, "a nil object")
	}
	in, name := obj.GetNamespace(), obj.GetName()
	if name == "" {
		return failed(field.ErrorTypeRequired, list+".metadata.name", "", "an object needs a name")
	}
	var old T
	var had bool
	if put {
		old, had = t.put(s.own, in, name, obj)
	} else if old, had = t.remove(s.own, in, name); !had {
		return failed(field.ErrorTypeNotFound, list, nameOf(obj), "")
	}
	if s.recording {
		s.record(undo{kind: undoFunc, call: func() {
			switch {
			case !put:
				t.put(s.own, in, name, old)
				s.logObject(nil, old)
			case had:
				t.put(s.own, in, name, old)
				s.logObject(obj, old)
			default:
				t.remove(s.own, in, name)
				s.logObject(obj, nil)
			}
		}})
	}
	switch {
	case put && had:
		s.logObject(old, obj)
	case put:
		s.logObject(nil, obj)
	default:
		s.logObject(old, nil)
	}
	return nil
}
