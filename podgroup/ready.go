package podgroup

import "fmt"

// Ready reports whether a node has enough pods: a group its minimum of known pods, a composite group its minimum of ready children.
// known returns the number of known pods of a group.
func (n *Node) Ready(known func(group *Group) int) bool {
	if n.Group != nil {
		return known(n.Group) >= n.Needs()
	}
	ready := 0
	for _, child := range n.Children {
		if child.Ready(known) {
			ready++
		}
	}
	return ready >= n.Needs()
}

// GateText returns why the members of a group must wait before they are queued, "" when they need not. known returns the number of pods
// of a group that the scheduler knows: those that wait and those on nodes, terminating pods included, ended pods not. Without the gate
// Composites a basic group never waits.
func (t *Tree) GateText(known func(group *Group) int, g Gates) string {
	root, deep := t.Root(), t.deepest()
	switch {
	case !g.Composites && root.Minimum == nil:
		return ""
	case deep != nil:
		return fmt.Sprintf("failed to build hierarchy snapshot: exceeded maximum hierarchy depth at %s", deep)
	case root.Ready(known):
		return ""
	case root.Group != nil:
		return TextQuorumGate
	}
	return fmt.Sprintf("waiting for composite pod group %q tree to meet quorum", root.Name)
}

// deepest returns the first node below MaxDepth, nil when there is none.
func (t *Tree) deepest() *Node {
	for _, n := range t.nodes {
		if n.Depth > MaxDepth {
			return n
		}
	}
	return nil
}
