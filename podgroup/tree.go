package podgroup

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
)

// MaxDepth is how many levels a tree may have, the leaf included. v1.37 intends 4 levels and follows 5. Pods of deeper trees are never
// scheduled.
const MaxDepth = 5

var (
	// ErrNoObject: a group or a composite group above it has no object. The pods wait for the object.
	ErrNoObject = errors.New("no object of the group")
	// ErrCycle: composite groups are each other's parents.
	ErrCycle = errors.New("the parents of the group are a cycle")
)

// Objects finds groups. cluster.Snapshot has these methods.
type Objects interface {
	// Group returns the group of that name; nil when there is none.
	Group(namespace, name string) *Group
	// Composite returns the composite group of that name; nil when there is none.
	Composite(namespace, name string) *Composite
	// Groups yields the groups of a namespace, in any order.
	Groups(namespace string) iter.Seq[*Group]
	// Composites yields the composite groups of a namespace, in any order.
	Composites(namespace string) iter.Seq[*Composite]
}

// Node is a group or a composite group of a tree.
type Node struct {
	*Spec
	Namespace, Name string
	Group           *Group     // nil for a composite group
	Composite       *Composite // nil for a group
	// Up is the node above; nil for the root.
	Up *Node
	// Children are sorted by time of creation, then by name.
	Children []*Node
	// Depth is the level: 1 for the root.
	Depth int
}

func groupNode(g *Group) *Node {
	return &Node{Spec: &g.Spec, Namespace: g.Namespace, Name: g.Name, Group: g}
}

func compositeNode(c *Composite) *Node {
	return &Node{Spec: &c.Spec, Namespace: c.Namespace, Name: c.Name, Composite: c}
}

// Tree is a root with all groups below it. The root is a group or a composite group.
type Tree struct {
	nodes []*Node // from the root on, parents before their children
}

// RootOf returns the name of the root of a group: the end of the chain of its parents. composite reports whether the root is a
// composite group. The error is [ErrNoObject] or [ErrCycle]. Without the gate Composites the root is the group.
func RootOf(o Objects, namespace, group string, g Gates) (name string, composite bool, err error) {
	leaf := o.Group(namespace, group)
	if leaf == nil {
		return "", false, fmt.Errorf("pod group %s/%s: %w", namespace, group, ErrNoObject)
	}
	name, parent := group, leaf.Parent
	if !g.Composites {
		return name, false, nil
	}
	seen := map[string]bool{}
	for parent != "" {
		if seen[parent] {
			return "", false, fmt.Errorf("composite pod group %s/%s: %w", namespace, parent, ErrCycle)
		}
		seen[parent] = true
		c := o.Composite(namespace, parent)
		if c == nil {
			return "", false, fmt.Errorf("composite pod group %s/%s: %w", namespace, parent, ErrNoObject)
		}
		name, parent, composite = parent, c.Parent, true
	}
	return name, composite, nil
}

// TreeOf returns the tree that a group belongs to. The error is that of [RootOf].
func TreeOf(o Objects, namespace, group string, g Gates) (*Tree, error) {
	name, composite, err := RootOf(o, namespace, group, g)
	if err != nil {
		return nil, err
	}
	t := &Tree{}
	if !composite {
		t.add(groupNode(o.Group(namespace, name)), nil)
		return t, nil
	}
	below := map[string][]*Node{}
	for x := range o.Groups(namespace) {
		if x.Parent != "" {
			below[x.Parent] = append(below[x.Parent], groupNode(x))
		}
	}
	for x := range o.Composites(namespace) {
		if x.Parent != "" {
			below[x.Parent] = append(below[x.Parent], compositeNode(x))
		}
	}
	t.grow(compositeNode(o.Composite(namespace, name)), nil, below)
	return t, nil
}

// grow adds a node with everything below it.
func (t *Tree) grow(n, parent *Node, below map[string][]*Node) {
	t.add(n, parent)
	if n.Composite == nil {
		return
	}
	n.Children = below[n.Name]
	slices.SortFunc(n.Children, compareChildren)
	for _, child := range n.Children {
		t.grow(child, n, below)
	}
}

func (t *Tree) add(n, parent *Node) {
	n.Up, n.Depth = parent, 1
	if parent != nil {
		n.Depth = parent.Depth + 1
	}
	t.nodes = append(t.nodes, n)
}

func compareChildren(a, b *Node) int {
	return cmp.Or(a.created().Compare(b.created()), cmp.Compare(a.Name, b.Name), cmp.Compare(a.kind(), b.kind()))
}

// Root returns the root.
func (t *Tree) Root() *Node { return t.nodes[0] }

// Nodes returns all nodes, a parent before its children, siblings in their order. The caller must not change the slice.
func (t *Tree) Nodes() []*Node { return t.nodes }

// Leaves returns the groups of the tree, in the order in which they are evaluated.
func (t *Tree) Leaves() []*Node { return t.Root().Leaves() }

// Leaves returns the groups below a node, the node itself if it is a group.
func (n *Node) Leaves() (leaves []*Node) {
	if n.Group != nil {
		return []*Node{n}
	}
	for _, child := range n.Children {
		leaves = append(leaves, child.Leaves()...)
	}
	return leaves
}

// Home returns the node to which the queued pods of a group belong: as in v1.37, the first node of the tree with the group's name, from
// the root on. If that node is a composite group, nobody places the pods. nil: no node has the name.
func (t *Tree) Home(group string) *Node {
	for _, n := range t.nodes {
		if n.Name == group {
			return n
		}
	}
	return nil
}

// String returns the kind, the namespace and the name, as in kube-scheduler's errors: "podgroup/default/workers".
func (n *Node) String() string { return n.kind() + "/" + n.Namespace + "/" + n.Name }

func (n *Node) kind() string {
	if n.Group != nil {
		return "podgroup"
	}
	return "compositepodgroup"
}

func (n *Node) created() time.Time {
	if n.Group != nil {
		return n.Group.CreationTimestamp.Time
	}
	return n.Composite.CreationTimestamp.Time
}
