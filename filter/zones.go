package filter

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// ZoneKey returns the zone that the scan order spreads a node by: region and zone from the node's labels, the beta labels
// (failure-domain.beta.kubernetes.io/...) before today's when they are present, even if empty. Nodes with neither share
// the key "".
func ZoneKey(node *v1.Node) string {
	zone := firstLabel(node.Labels, v1.LabelFailureDomainBetaZone, v1.LabelTopologyZone)
	region := firstLabel(node.Labels, v1.LabelFailureDomainBetaRegion, v1.LabelTopologyRegion)
	if zone == "" && region == "" {
		return ""
	}
	return region + ":\x00:" + zone
}

func firstLabel(labels map[string]string, beta, ga string) string {
	if v, ok := labels[beta]; ok {
		return v
	}
	return labels[ga]
}

// Zones keeps the order in which nodes are scanned: the first node of each zone, then the second of each, and so on, zones
// in the order in which they were first seen, a zone's nodes in the order in which they came. The zero value is empty and
// ready. Rule: documentation, "Scheduler Performance Tuning": nodes 1 to 4 in one zone and 5 and 6 in another are scanned
// as 1, 5, 2, 6, 3, 4.
type Zones struct {
	// Eager makes a change of a node's zone labels show in Order at once. Otherwise, as in v1.36, it shows when a node is
	// next added or removed.
	Eager bool

	zones []*zone
	of    map[int]*zone // by slot
	order []int
	stale bool
}

type zone struct {
	key   string
	slots []int
}

// Add puts a node at the end of its zone; a zone without nodes is put behind the others. A slot that is there already is
// left where it is. O(zones).
func (z *Zones) Add(slot int, node *v1.Node) {
	if _, ok := z.of[slot]; ok {
		return
	}
	z.insert(slot, ZoneKey(node))
	z.stale = true
}

// Remove takes a node out, and its zone with the last one: when nodes of that zone come again, it is put behind the
// others. An unknown slot is ignored. O(nodes of the zone).
func (z *Zones) Remove(slot int) {
	if z.take(slot) {
		z.stale = true
	}
}

// Update moves a node whose zone changed to the end of the new zone; with the zone unchanged it keeps its place. An
// unknown slot is added. See Eager.
func (z *Zones) Update(slot int, node *v1.Node) {
	old, ok := z.of[slot]
	if !ok {
		z.Add(slot, node)
		return
	}
	if key := ZoneKey(node); key != old.key {
		z.take(slot)
		z.insert(slot, key)
		z.stale = z.stale || z.Eager
	}
}

func (z *Zones) insert(slot int, key string) {
	at := slices.IndexFunc(z.zones, func(o *zone) bool { return o.key == key })
	if at < 0 {
		at = len(z.zones)
		z.zones = append(z.zones, &zone{key: key})
	}
	z.zones[at].slots = append(z.zones[at].slots, slot)
	if z.of == nil {
		z.of = map[int]*zone{}
	}
	z.of[slot] = z.zones[at]
}

func (z *Zones) take(slot int) bool {
	o, ok := z.of[slot]
	if !ok {
		return false
	}
	delete(z.of, slot)
	at := slices.Index(o.slots, slot)
	o.slots = slices.Delete(o.slots, at, at+1)
	if len(o.slots) == 0 {
		z.zones = slices.DeleteFunc(z.zones, func(x *zone) bool { return x == o })
	}
	return true
}

// Len returns the number of nodes.
func (z *Zones) Len() int { return len(z.of) }

// Order returns the slots in scan order. It is worked out when nodes came or went since the last call, O(nodes), and kept
// otherwise. The slice is not written to again; it must not be changed.
func (z *Zones) Order() []int {
	if z.stale {
		lists := make([][]int, len(z.zones))
		for k, o := range z.zones {
			lists[k] = o.slots
		}
		z.order, z.stale = interleave(lists, len(z.of)), false
	}
	return z.order
}

// ScanOrder returns the scan order of a cluster whose nodes came in the order of their slots. O(nodes).
func ScanOrder(c Cluster) []int {
	var z Zones
	for i := range c.Len() {
		if n := c.Node(i); n != nil {
			z.Add(i, n)
		}
	}
	return z.Order()
}

// Interleave returns the scan order of nodes given by their zone keys, as positions in keys.
func Interleave(keys []string) []int {
	var lists [][]int
	at := map[string]int{}
	for i, key := range keys {
		k, ok := at[key]
		if !ok {
			k = len(lists)
			at[key] = k
			lists = append(lists, nil)
		}
		lists[k] = append(lists[k], i)
	}
	return interleave(lists, len(keys))
}

// interleave takes the first of each list, then the second of each, until n are taken.
func interleave(lists [][]int, n int) []int {
	out := make([]int, 0, n)
	for k := 0; len(out) < n; k++ {
		lists = slices.DeleteFunc(lists, func(list []int) bool { return k >= len(list) })
		for _, list := range lists {
			out = append(out, list[k])
		}
	}
	return out
}
