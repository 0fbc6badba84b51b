package view

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Zone returns the region and the zone of a node, "" for a missing label. A beta label
// (failure-domain.beta.kubernetes.io/...) counts before the label of topology.kubernetes.io, even when the beta label is
// empty. Rule: F17.1.
func Zone(node *v1.Node) (region, zone string) {
	zone, ok := node.Labels[v1.LabelFailureDomainBetaZone]
	if !ok {
		zone = node.Labels[v1.LabelTopologyZone]
	}
	region, ok = node.Labels[v1.LabelFailureDomainBetaRegion]
	if !ok {
		region = node.Labels[v1.LabelTopologyRegion]
	}
	return region, zone
}

// ZoneKey returns the zone of a node as one string. All nodes without region and zone have the key "".
func ZoneKey(node *v1.Node) string {
	region, zone := Zone(node)
	if region == "" && zone == "" {
		return ""
	}
	return region + ":\x00:" + zone
}

// Zones lists slots by zone. Zones come in the order in which they were first seen, the slots of a zone in the order in
// which they were added. A zone without slots is dropped; if the zone comes back, it is the last zone. The zero value is
// empty and ready. Rules: F17.2, F17.3.
type Zones struct{ list []zone }

type zone struct {
	key    string
	slots  []int32
	shared bool // the slots are those of another Zones too: a change copies them
}

// Clone returns a copy, which may change as long as z does not. O(zones).
func (z *Zones) Clone() Zones {
	c := Zones{slices.Clone(z.list)}
	for i := range c.list {
		c.list[i].shared = true
	}
	return c
}

// write returns the slots of a zone for a change.
func (z *Zones) write(i int) *[]int32 {
	x := &z.list[i]
	if x.shared {
		x.slots, x.shared = slices.Clone(x.slots), false
	}
	return &x.slots
}

// Add puts a slot at the end of the zone with that key. The slot must not be in any zone. O(zones).
func (z *Zones) Add(slot int, key string) {
	i := z.find(key)
	if i < 0 {
		i = len(z.list)
		z.list = append(z.list, zone{key: key})
	}
	slots := z.write(i)
	*slots = append(*slots, int32(slot))
}

// Remove takes a slot out of the zone with that key, which must have the slot. O(zones + slots of the zone).
func (z *Zones) Remove(slot int, key string) {
	i := z.find(key)
	slots := z.write(i)
	at := slices.Index(*slots, int32(slot))
	if *slots = slices.Delete(*slots, at, at+1); len(*slots) == 0 {
		z.list = slices.Delete(z.list, i, i+1)
	}
}

func (z *Zones) find(key string) int {
	return slices.IndexFunc(z.list, func(z zone) bool { return z.key == key })
}

// Order returns the slots in scan order as a new list: the first slot of each zone, then the second of each, and so on. It
// is never nil. O(slots + zones).
func (z *Zones) Order() []int32 {
	lists, n := make([][]int32, len(z.list)), 0
	for i := range z.list {
		lists[i] = z.list[i].slots
		n += len(lists[i])
	}
	order := make([]int32, 0, n)
	for round := 0; len(lists) > 0; round++ {
		more := lists[:0]
		for _, slots := range lists {
			if round < len(slots) {
				order = append(order, slots[round])
				more = append(more, slots)
			}
		}
		lists = more
	}
	return order
}

// SameList reports whether two lists of slots are one list in memory. A list that never changes tells so that nothing has changed.
func SameList(a, b []int32) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// ScanOrder returns the slots of all nodes in scan order, as if the nodes had come in the order of their slots. O(slots).
func ScanOrder(c Nodes) []int32 {
	var z Zones
	for i := range c.Len() {
		if node := c.Node(i); node != nil {
			z.Add(i, ZoneKey(node))
		}
	}
	return z.Order()
}
