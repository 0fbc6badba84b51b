package cluster

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/view"
)

// zoneTree lists the slots of each zone.
type zoneTree struct {
	own *owner
	view.Zones
}

// keepTree returns the tree for the undo log. The snapshot copies the tree before its next change.
func (s *Snapshot) keepTree() *zoneTree {
	if s.recording {
		old := s.tree
		s.tree = &zoneTree{Zones: old.Zones}
		return old
	}
	return nil
}

func (s *Snapshot) restoreTree(t *zoneTree, order []int32) {
	s.tree = t
	s.order = order
}

func (s *Snapshot) writeTree() *zoneTree {
	if s.tree.own != s.own {
		s.tree = &zoneTree{s.own, s.tree.Clone()}
	}
	s.order = nil
	return s.tree
}

func (s *Snapshot) placeInTree(slot int, node *v1.Node) { s.writeTree().Add(slot, view.ZoneKey(node)) }

func (s *Snapshot) removeFromTree(slot int, node *v1.Node) {
	s.writeTree().Remove(slot, view.ZoneKey(node))
}

// Order returns the slots that have nodes in the order in which kube-scheduler scans them: the first node of each zone, then
// the second node of each zone, and so on. Zones (region and zone labels) come in the order in which they were first seen,
// nodes of a zone in the order in which they came. A node whose zone changes goes to the end of its new zone. As in v1.37,
// Order shows such a change only after a node was added or removed (F17.4). The first call after that takes O(nodes). A
// returned list never changes. Read-only.
func (s *Snapshot) Order() []int32 {
	s.lazy.RLock()
	list := s.order
	s.lazy.RUnlock()
	if list != nil {
		return list
	}
	s.lazy.Lock()
	defer s.lazy.Unlock()
	if s.order == nil {
		s.order = s.tree.Order()
	}
	return s.order
}
