package cluster

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// zoneTree lists the slots of each zone: zones in the order in which they were first seen, slots in the order in which they
// came to the zone. A zone without nodes is forgotten.
type zoneTree struct {
	own   *owner
	zones []zone
}

type zone struct {
	key   string
	slots []int32
}

// zoneKey is the region and the zone of a node, by the labels in the order that kube-scheduler looks at them: a beta label
// counts even when it is empty. Without either the key is empty.
func zoneKey(node *v1.Node) string {
	z, ok := node.Labels[v1.LabelFailureDomainBetaZone]
	if !ok {
		z = node.Labels[v1.LabelTopologyZone]
	}
	r, ok := node.Labels[v1.LabelFailureDomainBetaRegion]
	if !ok {
		r = node.Labels[v1.LabelTopologyRegion]
	}
	if r == "" && z == "" {
		return ""
	}
	return r + ":\x00:" + z
}

// keepTree returns the tree for the undo log, which it must not change under.
func (s *Snapshot) keepTree() *zoneTree {
	if s.recording {
		old := s.tree
		s.tree = &zoneTree{zones: old.zones}
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
		t := &zoneTree{own: s.own, zones: slices.Clone(s.tree.zones)}
		for i := range t.zones {
			t.zones[i].slots = slices.Clone(t.zones[i].slots)
		}
		s.tree = t
	}
	s.order = nil
	return s.tree
}

func (s *Snapshot) placeInTree(slot int, node *v1.Node) {
	t, key := s.writeTree(), zoneKey(node)
	i := slices.IndexFunc(t.zones, func(z zone) bool { return z.key == key })
	if i < 0 {
		i = len(t.zones)
		t.zones = append(t.zones, zone{key: key})
	}
	t.zones[i].slots = append(t.zones[i].slots, int32(slot))
}

func (s *Snapshot) removeFromTree(slot int, node *v1.Node) {
	t, key := s.writeTree(), zoneKey(node)
	i := slices.IndexFunc(t.zones, func(z zone) bool { return z.key == key })
	z := &t.zones[i]
	at := slices.Index(z.slots, int32(slot))
	z.slots = slices.Delete(z.slots, at, at+1)
	if len(z.slots) == 0 {
		t.zones = slices.Delete(t.zones, i, i+1)
	}
}

// Order returns the slots that have nodes in the order in which kube-scheduler goes through them: the first node of each
// zone, then the second of each, and so on. Zones (region and zone labels) come in the order in which they were first seen,
// nodes of a zone in the order in which they came; a node whose zone changes goes to the end of the new one, but, as in
// v1.36, that shows only when a node is next added or removed. The list is renewed by the first call after that, in
// O(nodes); a list that was returned never changes. Read-only.
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
		list = make([]int32, 0, s.live)
		for round := 0; len(list) < s.live; round++ {
			for i := range s.tree.zones {
				if slots := s.tree.zones[i].slots; round < len(slots) {
					list = append(list, slots[round])
				}
			}
		}
		s.order = list
	}
	return s.order
}
