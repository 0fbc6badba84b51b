package devices

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// view is the part of the inventory that one node sees. It holds as long as the node's object is the same.
type view struct {
	node   *v1.Node
	number int // of the node's name among all views
	pools  []*pool
	groups []int32 // group.at of the pools
	err    error   // a slice's selector cannot be parsed
}

// view returns the view of a node, and makes it when the node is new or its object has changed.
func (a *Allocator) view(node *v1.Node) *view {
	v := a.views[node.Name]
	if v != nil && v.node == node {
		return v
	}
	number := len(a.views)
	if v != nil {
		number = v.number
	}
	v = &view{node: node, number: number}
	v.pools, v.err = a.poolsOf(node)
	for _, p := range v.pools {
		v.groups = append(v.groups, p.group.at)
	}
	a.views[node.Name] = v
	return v
}

// viewOf returns the view of the node in slot i.
func (a *Allocator) viewOf(i int, node *v1.Node) *view {
	if i < len(a.slots) && a.slots[i] != nil && a.slots[i].node == node {
		return a.slots[i]
	}
	if i >= len(a.slots) {
		a.slots = append(a.slots, make([]*view, i+1-len(a.slots))...)
	}
	again := a.slots[i] != nil
	v := a.view(node)
	a.slots[i] = v
	for _, at := range v.groups {
		if !again || !slices.Contains(a.seenBy[at], int32(i)) {
			a.seenBy[at] = append(a.seenBy[at], int32(i))
		}
	}
	return v
}

// revision grows with each change of the allocations of the devices in the view's pools.
func (v *view) revision(l *Ledger) (sum uint64) {
	for _, at := range v.groups {
		sum += l.revisions[at]
	}
	return sum
}
