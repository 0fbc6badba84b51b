package cluster

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/resources"
)

// addNode gives a new node a slot, if possible a freed slot, and puts the orphans that name the node on this slot.
func (s *Snapshot) addNode(node *v1.Node) {
	slot := s.n
	if n := len(s.free); n > 0 {
		slot = int(s.free[n-1])
	}
	order, tree := s.order, s.keepTree()
	s.occupy(slot, node)
	s.placeInTree(slot, node)
	s.record(undo{kind: undoOccupy, slot: slot, tree: tree, order: order})
	for _, pod := range slices.Collect(s.orphans.in(node.Name)) {
		s.removeOrphan(pod)
		s.insert(pod, hashOf(pod), s.prepare(pod), slot, len(s.row(slot).pods))
	}
}

// updateNode replaces the object of a slot's node by another object of that node.
func (s *Snapshot) updateNode(slot int, node *v1.Node) {
	old := s.Node(slot)
	if old == node {
		return
	}
	order, tree := s.order, s.tree
	s.change(slot, node)
	if view.ZoneKey(old) != view.ZoneKey(node) {
		order, tree = s.Order(), s.keepTree() // Order keeps the list that was valid before the change
		s.removeFromTree(slot, old)
		s.placeInTree(slot, node)
		s.order = order
	}
	s.record(undo{kind: undoChange, slot: slot, node: old, tree: tree, order: order})
}

// removeNode frees the slot of a node. Pods with that spec.nodeName become orphans until they are removed or the node comes
// back. Pods that were only assumed there are pending again and leave the snapshot. Afterwards another node may get the
// slot. The change log names the slot both times.
func (s *Snapshot) removeNode(name string) error {
	slot := int(s.nodeIndex.get(name))
	if slot < 0 {
		return failure{failed(field.ErrorTypeNotFound, "nodes", name, ""), ErrUnknownNode}
	}
	for at := len(s.row(slot).pods) - 1; at >= 0; at-- {
		pod := s.row(slot).pods[at].pod
		s.take(slot, at)
		if pod.Spec.NodeName == name { // pods that were only assumed here are pending again
			s.addOrphan(pod)
		}
	}
	node := s.Node(slot)
	order, tree := s.order, s.keepTree()
	s.vacate(slot)
	s.removeFromTree(slot, node)
	s.record(undo{kind: undoVacate, slot: slot, node: node, tree: tree, order: order})
	return nil
}

// occupy puts a node into the last slot of the free list, or into a new slot at the end.
func (s *Snapshot) occupy(slot int, node *v1.Node) {
	if slot == s.n {
		s.n++
		s.nodes.grow(s.own, s.n)
		s.rows.grow(s.own, s.n)
		s.allocatable.grow(s.own, s.n)
		s.requested.grow(s.own, s.n)
		s.nonZero.grow(s.own, s.n)
	} else {
		s.free = s.free[:len(s.free)-1]
	}
	*s.nodes.write(s.own, slot) = node
	*s.rows.write(s.own, slot) = &row{own: s.own}
	s.nodeIndex.put(s.own, node.Name, int32(slot))
	s.live++
	s.setAllocatable(slot, node)
	s.reindex(slot, nil, node)
	s.logNode(slot)
}

// change puts a newer object of the same node into its slot.
func (s *Snapshot) change(slot int, node *v1.Node) {
	old := s.Node(slot)
	*s.nodes.write(s.own, slot) = node
	s.setAllocatable(slot, node)
	s.reindex(slot, old, node)
	s.logNode(slot)
}

// vacate frees a slot whose pods are gone. The sums over its pods are 0 then.
func (s *Snapshot) vacate(slot int) {
	old := s.Node(slot)
	*s.nodes.write(s.own, slot) = nil
	*s.rows.write(s.own, slot) = nil
	clear(s.allocatable.write(s.own, slot, 0))
	s.nodeIndex.delete(s.own, old.Name)
	s.live--
	s.free = append(slices.Clip(s.free), int32(slot))
	s.reindex(slot, old, nil)
	s.logNode(slot)
}

func (s *Snapshot) setAllocatable(slot int, node *v1.Node) {
	for name := range node.Status.Allocatable {
		if _, ok := s.schema.Column(name); !ok && resources.IsScalar(name) {
			s.ownSchema()
			break
		}
	}
	v := resources.FromList(s.schema, node.Status.Allocatable)
	for len(v) > resources.Scalars && v[len(v)-1] == 0 {
		v = v[:len(v)-1]
	}
	w := s.allocatable.write(s.own, slot, len(v))
	clear(w)
	copy(w, v)
}

// reindex brings the existing indexes over nodes up to date with a change of a slot.
func (s *Snapshot) reindex(slot int, old, node *v1.Node) {
	s.reindexValues(slot, node)
	s.reindexImages(slot, old, node)
}

// Len returns the number of slots, free ones included. Slots run from 0 to Len()-1.
func (s *Snapshot) Len() int { return s.n }

// Node returns the node of slot i, nil when the slot is free. Node and all other reads of slots panic when i is not in
// 0..Len()-1.
func (s *Snapshot) Node(i int) *v1.Node { return s.nodes.at(i) }

// Slot returns the slot of the node of that name, -1 when there is none.
func (s *Snapshot) Slot(name string) int { return int(s.nodeIndex.get(name)) }

// Schema returns the columns of the rows. Read-only. The snapshot adds columns at the end.
func (s *Snapshot) Schema() *resources.Schema { return s.schema }

// Allocatable returns what slot i offers (status.allocatable), by column of Schema. Missing columns are zero. Read-only and
// valid until the next change.
func (s *Snapshot) Allocatable(i int) resources.Vector { return s.allocatable.at(i) }

// Requested returns the sum of what the pods of slot i ask for, and their number in column [resources.Pods]. Each pod's sum is
// rounded up before it is added. Sums saturate at the ends of int64. Read-only and valid until the next change.
func (s *Snapshot) Requested(i int) resources.Vector { return s.requested.at(i) }

// NonZero returns the sum of the requests of slot i's pods for scoring, with 100m cpu and 200Mi memory for containers without a
// request.
func (s *Snapshot) NonZero(i int) (cpuMilli, memoryBytes int64) {
	nz := s.nonZero.at(i)
	return nz[0], nz[1]
}

// PortPods returns the assigned pods of slot i that hold host ports, in no particular order. Read-only and valid until the
// next change.
func (s *Snapshot) PortPods(i int) []*v1.Pod {
	if r := s.row(i); r != nil {
		return r.ports
	}
	return nil
}
