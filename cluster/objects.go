package cluster

import (
	"fmt"
	"iter"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// objects are the tables of all kinds beside nodes and pods.
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
}

// Namespaces yields the namespaces that objects were given for, by name, with their labels. A namespace that only pods
// name is not among them.
func (s *Snapshot) Namespaces() iter.Seq2[string, map[string]string] {
	return func(yield func(string, map[string]string) bool) {
		for ns := range s.objects.namespaces.all() {
			if !yield(ns.Name, ns.Labels) {
				return
			}
		}
	}
}

// Namespace returns the labels of a namespace, and false when no object was given for it.
func (s *Snapshot) Namespace(name string) (labels map[string]string, ok bool) {
	ns, ok := s.objects.namespaces.get("", name)
	if !ok {
		return nil, false
	}
	return ns.Labels, true
}

// Services returns the Services.
func (s *Snapshot) Services() Lookup[*v1.Service] { return Lookup[*v1.Service]{&s.objects.services} }

// ReplicationControllers returns the ReplicationControllers.
func (s *Snapshot) ReplicationControllers() Lookup[*v1.ReplicationController] {
	return Lookup[*v1.ReplicationController]{&s.objects.replicationControllers}
}

// ReplicaSets returns the ReplicaSets.
func (s *Snapshot) ReplicaSets() Lookup[*appsv1.ReplicaSet] {
	return Lookup[*appsv1.ReplicaSet]{&s.objects.replicaSets}
}

// StatefulSets returns the StatefulSets.
func (s *Snapshot) StatefulSets() Lookup[*appsv1.StatefulSet] {
	return Lookup[*appsv1.StatefulSet]{&s.objects.statefulSets}
}

// Claims returns the PersistentVolumeClaims.
func (s *Snapshot) Claims() Lookup[*v1.PersistentVolumeClaim] {
	return Lookup[*v1.PersistentVolumeClaim]{&s.objects.claims}
}

// PersistentVolumes returns the PersistentVolumes.
func (s *Snapshot) PersistentVolumes() Lookup[*v1.PersistentVolume] {
	return Lookup[*v1.PersistentVolume]{&s.objects.persistentVolumes}
}

// StorageClasses returns the StorageClasses.
func (s *Snapshot) StorageClasses() Lookup[*storagev1.StorageClass] {
	return Lookup[*storagev1.StorageClass]{&s.objects.storageClasses}
}

// CSINodes returns the CSINodes; each has its node's name.
func (s *Snapshot) CSINodes() Lookup[*storagev1.CSINode] {
	return Lookup[*storagev1.CSINode]{&s.objects.csiNodes}
}

// CSIDrivers returns the CSIDrivers.
func (s *Snapshot) CSIDrivers() Lookup[*storagev1.CSIDriver] {
	return Lookup[*storagev1.CSIDriver]{&s.objects.csiDrivers}
}

// CSIStorageCapacities returns the CSIStorageCapacities.
func (s *Snapshot) CSIStorageCapacities() Lookup[*storagev1.CSIStorageCapacity] {
	return Lookup[*storagev1.CSIStorageCapacity]{&s.objects.csiStorageCapacities}
}

// VolumeAttachments returns the VolumeAttachments.
func (s *Snapshot) VolumeAttachments() Lookup[*storagev1.VolumeAttachment] {
	return Lookup[*storagev1.VolumeAttachment]{&s.objects.volumeAttachments}
}

// PodDisruptionBudgets returns the PodDisruptionBudgets.
func (s *Snapshot) PodDisruptionBudgets() Lookup[*policyv1.PodDisruptionBudget] {
	return Lookup[*policyv1.PodDisruptionBudget]{&s.objects.podDisruptionBudgets}
}

// PriorityClasses returns the PriorityClasses.
func (s *Snapshot) PriorityClasses() Lookup[*schedulingv1.PriorityClass] {
	return Lookup[*schedulingv1.PriorityClass]{&s.objects.priorityClasses}
}

// SetNamespace adds the namespace or replaces its labels.
func (s *Snapshot) SetNamespace(name string, labels map[string]string) error {
	return s.Set(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
}

// RemoveNamespace removes the namespace; its pods stay. An error says that it is not there.
func (s *Snapshot) RemoveNamespace(name string) error {
	return s.Unset(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// Set adds an object or replaces the one of its kind, namespace and name. The kinds are those of Objects; for a node it is
// AddNode or UpdateNode, for a pod Update. An error names another kind or a missing name.
func (s *Snapshot) Set(obj metav1.Object) error {
	switch o := obj.(type) {
	case *v1.Node:
		if o != nil && s.Slot(o.Name) >= 0 {
			return s.UpdateNode(o)
		}
		_, err := s.AddNode(o)
		return err
	case *v1.Pod:
		return s.Update(o)
	}
	return s.visit(obj, true)
}

// Unset removes the object of the kind, namespace and name of obj; for a node it is RemoveNode, for a pod Remove. An error
// names another kind, or says that there is no such object.
func (s *Snapshot) Unset(obj metav1.Object) error {
	switch o := obj.(type) {
	case *v1.Node:
		return s.RemoveNode(o.Name)
	case *v1.Pod:
		return s.Remove(o)
	}
	return s.visit(obj, false)
}

// visit finds the table of an object's kind and puts the object there, or removes it.
func (s *Snapshot) visit(obj metav1.Object, put bool) error {
	t := &s.objects
	switch o := obj.(type) {
	case *v1.Namespace:
		return edit(s, &t.namespaces, o, put)
	case *v1.Service:
		return edit(s, &t.services, o, put)
	case *v1.ReplicationController:
		return edit(s, &t.replicationControllers, o, put)
	case *appsv1.ReplicaSet:
		return edit(s, &t.replicaSets, o, put)
	case *appsv1.StatefulSet:
		return edit(s, &t.statefulSets, o, put)
	case *v1.PersistentVolumeClaim:
		return edit(s, &t.claims, o, put)
	case *v1.PersistentVolume:
		return edit(s, &t.persistentVolumes, o, put)
	case *storagev1.StorageClass:
		return edit(s, &t.storageClasses, o, put)
	case *storagev1.CSINode:
		return edit(s, &t.csiNodes, o, put)
	case *storagev1.CSIDriver:
		return edit(s, &t.csiDrivers, o, put)
	case *storagev1.CSIStorageCapacity:
		return edit(s, &t.csiStorageCapacities, o, put)
	case *storagev1.VolumeAttachment:
		return edit(s, &t.volumeAttachments, o, put)
	case *policyv1.PodDisruptionBudget:
		return edit(s, &t.podDisruptionBudgets, o, put)
	case *schedulingv1.PriorityClass:
		return edit(s, &t.priorityClasses, o, put)
	}
	return fmt.Errorf("%T: a snapshot does not hold objects of this kind", obj)
}

func edit[T metav1.Object](s *Snapshot, t *table[T], obj T, put bool) error {
	in, name := obj.GetNamespace(), obj.GetName()
	if name == "" {
		return fmt.Errorf("metadata.name: Required value: an object of type %T needs a name", obj)
	}
	var old T
	var had bool
	if put {
		old, had = t.put(s.own, in, name, obj)
	} else if old, had = t.remove(s.own, in, name); !had {
		return fmt.Errorf("%T %s/%s: not found", obj, in, name)
	}
	if s.recording {
		s.record(undo{kind: undoFunc, call: func() {
			if had {
				t.put(s.own, in, name, old)
			} else {
				t.remove(s.own, in, name)
			}
			s.logAll()
		}})
	}
	s.logAll()
	return nil
}
