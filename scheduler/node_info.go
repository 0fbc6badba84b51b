package scheduler

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
)

// NodeInfo is a plugin's view of a node: the node as it is, or the node of a what-if with nominated pods added or
// victims removed.
type NodeInfo struct {
	// Slot is the node's handle in the snapshot.
	Slot int
	// Node is the API object. It must not be changed.
	Node *v1.Node

	snapshot       *cluster.Snapshot
	added, removed []*v1.Pod
}

// Pods yields the pods of the node in the order in which they were added.
func (n *NodeInfo) Pods() iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		for p := range n.snapshot.Pods(n.Slot) {
			if !slices.Contains(n.removed, p) && !yield(p) {
				return
			}
		}
		for _, p := range n.added {
			if !yield(p) {
				return
			}
		}
	}
}

// Changed reports whether the pods differ from the snapshot's, as in a what-if.
func (n *NodeInfo) Changed() bool { return len(n.added)+len(n.removed) > 0 }

func (n *NodeInfo) clone() *NodeInfo {
	c := *n
	c.added, c.removed = slices.Clone(n.added), slices.Clone(n.removed)
	return &c
}

func (n *NodeInfo) add(p *v1.Pod) {
	if k := slices.Index(n.removed, p); k >= 0 {
		n.removed = slices.Delete(n.removed, k, k+1)
		return
	}
	n.added = append(n.added, p)
}

func (n *NodeInfo) remove(p *v1.Pod) {
	if k := slices.Index(n.added, p); k >= 0 {
		n.added = slices.Delete(n.added, k, k+1)
		return
	}
	n.removed = append(n.removed, p)
}

// nodeList keeps one NodeInfo for each node of a snapshot, and replaces NodeInfos when nodes change.
type nodeList struct {
	order []int32
	list  []*NodeInfo // in scan order
	slot  map[int]*NodeInfo
}

// named returns the node with the name, nil if there is no such node.
func (l *nodeList) named(name string) *NodeInfo {
	if len(l.list) == 0 || name == "" {
		return nil
	}
	return l.slot[l.list[0].snapshot.Slot(name)]
}

// follow updates the list. changed is true if a node object may have been replaced.
func (l *nodeList) follow(s *cluster.Snapshot, changed bool) {
	order := s.Order()
	if !changed && len(order) == len(l.order) && (len(order) == 0 || &order[0] == &l.order[0]) {
		return
	}
	l.order, l.list, l.slot = order, make([]*NodeInfo, 0, len(order)), make(map[int]*NodeInfo, len(order))
	for _, i := range order {
		n := &NodeInfo{Slot: int(i), Node: s.Node(int(i)), snapshot: s}
		l.list = append(l.list, n)
		l.slot[int(i)] = n
	}
}
