package cluster

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
)

// Finished reports whether a pod has ended (phase Succeeded or Failed), so that it holds nothing on its node. A nil pod has
// not ended.
func Finished(pod *v1.Pod) bool { return pod != nil && podinfo.Finished(pod) }

// Assume puts a pod on a slot, whatever its spec.nodeName says: for a decision that the API server has not seen yet, or for a
// what-if. Remove takes the pod off again. Set with the bound pod makes the decision definite.
//
// An error wraps a *field.Error, and the snapshot has not changed then:
//
//   - [ErrPlaced], [field.ErrorTypeDuplicate]: the pod is on a node already, or is an orphan.
//   - [ErrUnknownNode], [field.ErrorTypeNotFound]: the slot has no node.
//   - [field.ErrorTypeInvalid]: the pod has finished.
//   - [field.ErrorTypeRequired]: the pod is nil.
func (s *Snapshot) Assume(pod *v1.Pod, slot int) error {
	if pod == nil {
		return failed(field.ErrorTypeRequired, "pods", nil, "a nil pod")
	}
	hash := hashOf(pod)
	if err := s.assumable(pod, hash, slot); err != nil {
		return err
	}
	s.insert(pod, hash, s.prepare(pod), slot, len(s.row(slot).pods))
	return nil
}

func (s *Snapshot) assumable(pod *v1.Pod, hash uint32, slot int) error {
	if slot < 0 || slot >= s.n || s.Node(slot) == nil {
		return failure{failed(field.ErrorTypeNotFound, "slot", int64(slot), "no node is there, slots run from 0 to %d", s.n-1), ErrUnknownNode}
	}
	if Finished(pod) {
		return failed(field.ErrorTypeInvalid, "pods.status.phase", string(pod.Status.Phase), "pod %s has finished", podinfo.Name(pod))
	}
	if on, _ := s.seek(hash, pod.Namespace, pod.Name); on >= 0 {
		return failure{failed(field.ErrorTypeDuplicate, "pods", podinfo.Name(pod), "the pod is on node %q", s.Node(on).Name), ErrPlaced}
	}
	if s.isOrphan(pod) {
		return failure{failed(field.ErrorTypeDuplicate, "pods", podinfo.Name(pod), "the pod is on a node that is not in the snapshot"), ErrPlaced}
	}
	return nil
}

// updatePod is Set for a pod.
func (s *Snapshot) updatePod(pod *v1.Pod) error {
	if pod == nil {
		return failed(field.ErrorTypeRequired, "pods", nil, "a nil pod")
	}
	if pod.Name == "" {
		return failed(field.ErrorTypeRequired, "pods.metadata.name", "", "a pod needs a name")
	}
	hash := hashOf(pod)
	on, at := s.seek(hash, pod.Namespace, pod.Name)
	if Finished(pod) {
		s.drop(pod, on, at)
		return nil
	}
	if pod.Spec.NodeName == "" {
		if on >= 0 {
			s.renew(pod, on, at)
		}
		return nil
	}
	slot := int(s.nodeIndex.get(pod.Spec.NodeName))
	if slot >= 0 && slot == on {
		s.renew(pod, on, at)
		return nil
	}
	s.drop(pod, on, at)
	if slot < 0 {
		s.addOrphan(pod)
		return nil
	}
	s.insert(pod, hash, s.prepare(pod), slot, len(s.row(slot).pods))
	return nil
}

func (s *Snapshot) renew(pod *v1.Pod, slot, at int) {
	if s.row(slot).pods[at].pod != pod {
		s.replace(pod, s.prepare(pod), slot, at)
	}
}

// drop removes the pod from its place in a slot, which seek found, or from the orphans, if it is there.
func (s *Snapshot) drop(pod *v1.Pod, slot, at int) {
	switch {
	case slot >= 0:
		s.take(slot, at)
	case s.isOrphan(pod):
		s.removeOrphan(s.findOrphan(pod))
	}
}

// removePod is Remove for a pod.
func (s *Snapshot) removePod(pod *v1.Pod) error {
	slot, at := s.seek(hashOf(pod), pod.Namespace, pod.Name)
	var have *v1.Pod
	switch {
	case slot >= 0:
		have = s.row(slot).pods[at].pod
	case s.isOrphan(pod):
		have = s.findOrphan(pod)
	default:
		return failed(field.ErrorTypeNotFound, "pods", podinfo.Name(pod), "")
	}
	if pod.UID != "" && have.UID != "" && pod.UID != have.UID {
		return failed(field.ErrorTypeNotFound, "pods", podinfo.Name(pod), "the pod of this name has UID %q, not %q", have.UID, pod.UID)
	}
	s.drop(pod, slot, at)
	return nil
}

// Orphans returns the pods whose node is not in the snapshot, sorted by node, namespace and name, as a new slice. No row and
// no index counts orphans. O(orphans).
func (s *Snapshot) Orphans() []*v1.Pod {
	return slices.AppendSeq(make([]*v1.Pod, 0, s.orphans.n), s.orphans.all())
}

func (s *Snapshot) addOrphan(pod *v1.Pod) {
	s.orphans.put(s.own, pod.Spec.NodeName, podinfo.Name(pod), pod)
	s.orphanKeys.put(s.own, keyOf(pod), 0)
	s.enrol(pod)
	s.record(undo{kind: undoFunc, call: func() { s.removeOrphan(pod) }})
}

func (s *Snapshot) removeOrphan(pod *v1.Pod) {
	s.orphans.remove(s.own, pod.Spec.NodeName, podinfo.Name(pod))
	s.expel(pod)
	s.orphanKeys.delete(s.own, keyOf(pod))
	s.record(undo{kind: undoFunc, call: func() { s.addOrphan(pod) }})
}

// isOrphan reports whether the orphans have a pod of the pod's namespace and name.
func (s *Snapshot) isOrphan(pod *v1.Pod) bool {
	return s.orphans.n > 0 && s.orphanKeys.get(keyOf(pod)) != gone
}

// findOrphan returns the orphan of the pod's namespace and name.
func (s *Snapshot) findOrphan(pod *v1.Pod) *v1.Pod {
	if p, ok := s.orphans.get(pod.Spec.NodeName, podinfo.Name(pod)); ok {
		return p
	}
	for p := range s.orphans.all() {
		if p.Name == pod.Name && p.Namespace == pod.Namespace {
			return p
		}
	}
	return nil
}

// Pods yields the assigned pods of slot i in the order in which they came, none for a free slot. Terminating pods are
// included. The snapshot must not change while the caller reads the pods.
func (s *Snapshot) Pods(i int) iter.Seq[*v1.Pod] {
	var pods []entry
	if r := s.row(i); r != nil {
		pods = r.pods
	}
	return func(yield func(*v1.Pod) bool) {
		for k := range pods {
			if !yield(pods[k].pod) {
				return
			}
		}
	}
}

// podSlot returns the slot that the pod of that namespace and name is on, assumed or bound, and -1 when it is on none.
func (s *Snapshot) podSlot(namespace, name string) int {
	slot, _ := s.seek(podHash(namespace, name), namespace, name)
	return slot
}

// Pod returns the pod of that namespace and name as the snapshot has it on a slot, assumed or bound; nil when it is on no
// slot.
func (s *Snapshot) Pod(namespace, name string) *v1.Pod {
	slot, at := s.seek(podHash(namespace, name), namespace, name)
	if slot < 0 {
		return nil
	}
	return s.row(slot).pods[at].pod
}

// infoOf returns what an assigned pod counts with; nil for a nil pod and for a pod object that is on no slot.
func (s *Snapshot) infoOf(pod *v1.Pod) *info {
	if pod == nil {
		return nil
	}
	slot, at := s.seek(hashOf(pod), pod.Namespace, pod.Name)
	if slot < 0 {
		return nil
	}
	if e := &s.row(slot).pods[at]; e.pod == pod {
		return e.info
	}
	return nil
}

// PodRequests returns what an assigned pod adds to Requested, and false for a nil pod and for a pod object that is on no
// slot. Column [resources.Pods] is 1. Read-only.
func (s *Snapshot) PodRequests(pod *v1.Pod) (resources.Vector, bool) {
	i := s.infoOf(pod)
	if i == nil {
		return nil, false
	}
	return i.request, true
}

// PodKind returns the kind of an assigned pod, a comparable value, and the id of the pod's term set, -1 for a pod without
// inter-pod terms. Pods of equal kind change every count in the same way: they are equal in pod set, term set and requests. kind is nil for a nil pod and
// for a pod object that is on no slot. Both results are valid until an event with Node == -1.
func (s *Snapshot) PodKind(pod *v1.Pod) (kind any, terms int32) {
	i := s.infoOf(pod)
	if i == nil {
		return nil, -1
	}
	return i, i.terms
}
