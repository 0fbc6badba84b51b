package scheduler

import (
	"iter"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
)

// groups has the groups as they were reported last, and counts their pods. The queue and Permit read it between scheduling cycles. It is
// safe for concurrent use.
type groups struct {
	gates podgroup.Gates

	mu     sync.Mutex
	leaves map[string]map[string]*podgroup.Group     // by namespace and name
	above  map[string]map[string]*podgroup.Composite // composite groups
	known  members                                   // pods that were reported
	placed members                                   // pods that are assumed or have nodes
}

// members are the pods of groups.
type members map[types.NamespacedName]map[types.UID]bool

func (m members) set(pod *v1.Pod, is bool) {
	name, ok := podgroup.Of(pod)
	if !ok {
		return
	}
	key := types.NamespacedName{Namespace: pod.Namespace, Name: name}
	if !is {
		delete(m[key], pod.UID)
		return
	}
	if m[key] == nil {
		m[key] = map[types.UID]bool{}
	}
	m[key][pod.UID] = true
}

// newGroups returns the groups of a cluster.
func newGroups(s *cluster.Snapshot, gates podgroup.Gates) *groups {
	gates.Topology = gates.Topology || gates.Composites
	g := &groups{gates: gates, leaves: map[string]map[string]*podgroup.Group{}, above: map[string]map[string]*podgroup.Composite{}, known: members{}, placed: members{}}
	for x := range cluster.List[*podgroup.Group](s).All() {
		g.set(x, false)
	}
	for x := range cluster.List[*podgroup.Composite](s).All() {
		g.set(x, false)
	}
	for i := range s.Len() {
		for p := range s.Pods(i) {
			g.see(p, true)
			g.place(p, true)
		}
	}
	return g
}

// set takes in a group that was set or deleted. It ignores objects of other kinds.
func (g *groups) set(obj metav1.Object, gone bool) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch x := obj.(type) {
	case *podgroup.Group:
		put(g.leaves, x, gone)
	case *podgroup.Composite:
		put(g.above, x, gone)
	}
}

func put[T metav1.Object](m map[string]map[string]T, x T, gone bool) {
	names := m[x.GetNamespace()]
	if gone {
		delete(names, x.GetName())
		return
	}
	if names == nil {
		names = map[string]T{}
		m[x.GetNamespace()] = names
	}
	names[x.GetName()] = x
}

// see notes that a pod was reported, or is gone.
func (g *groups) see(pod *v1.Pod, is bool) {
	if g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.known.set(pod, is)
	}
}

// place notes that a pod holds room, or does not.
func (g *groups) place(pod *v1.Pod, is bool) {
	if g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.placed.set(pod, is)
	}
}

// Group returns the group of that name; nil when there is none.
func (g *groups) Group(namespace, name string) *podgroup.Group {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leaves[namespace][name]
}

// Composite returns the composite group of that name; nil when there is none.
func (g *groups) Composite(namespace, name string) *podgroup.Composite {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.above[namespace][name]
}

// Groups yields the groups of a namespace.
func (g *groups) Groups(namespace string) iter.Seq[*podgroup.Group] {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Values(slices.Collect(maps.Values(g.leaves[namespace])))
}

// Composites yields the composite groups of a namespace.
func (g *groups) Composites(namespace string) iter.Seq[*podgroup.Composite] {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Values(slices.Collect(maps.Values(g.above[namespace])))
}

// count returns the number of pods of a group that were reported.
func (g *groups) count(x *podgroup.Group) int { return g.size(g.known, x) }

// countPlaced returns the number of pods of a group that hold room.
func (g *groups) countPlaced(x *podgroup.Group) int { return g.size(g.placed, x) }

func (g *groups) size(m members, x *podgroup.Group) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(m[types.NamespacedName{Namespace: x.Namespace, Name: x.Name}])
}

// tree returns the tree of a pod's group; nil for a pod without group, and for a group without object.
func (g *groups) tree(pod *v1.Pod) *podgroup.Tree {
	if g == nil {
		return nil
	}
	name, ok := podgroup.Of(pod)
	if !ok {
		return nil
	}
	tree, err := podgroup.TreeOf(g, pod.Namespace, name, g.gates)
	if err != nil {
		return nil
	}
	return tree
}

// options returns what the queue asks about groups; nil without groups.
func (g *groups) options() *queue.GroupOptions {
	if g == nil {
		return nil
	}
	return &queue.GroupOptions{Objects: g, Gates: g.gates, Known: g.count}
}

// uidOf returns the UID of the root of a tree.
func uidOf(t *podgroup.Tree) types.UID {
	if root := t.Root(); root.Composite != nil {
		return root.Composite.UID
	}
	return t.Root().Group.UID
}
