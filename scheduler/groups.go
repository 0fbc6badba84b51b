package scheduler

import (
	"iter"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
)

// groups finds the groups as they were reported last, and counts their pods. The queue and Permit read it between scheduling cycles. It
// is safe for concurrent use.
type groups struct {
	gates   podgroup.Gates
	objects *namespaces

	mu     sync.Mutex
	known  members // pods that were reported
	placed members // pods that are assumed or have nodes
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
func newGroups(s *cluster.Snapshot, objects *namespaces, gates podgroup.Gates) *groups {
	gates.Topology = gates.Topology || gates.Composites
	g := &groups{gates: gates, objects: objects, known: members{}, placed: members{}}
	for i := range s.Len() {
		for p := range s.Pods(i) {
			g.see(p, true)
			g.place(p, true)
		}
	}
	return g
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
	x, _ := locked[*podgroup.Group]{g.objects}.Get(namespace, name)
	return x
}

// Composite returns the composite group of that name; nil when there is none.
func (g *groups) Composite(namespace, name string) *podgroup.Composite {
	x, _ := locked[*podgroup.Composite]{g.objects}.Get(namespace, name)
	return x
}

// Groups yields the groups of a namespace.
func (g *groups) Groups(namespace string) iter.Seq[*podgroup.Group] {
	return locked[*podgroup.Group]{g.objects}.In(namespace)
}

// Composites yields the composite groups of a namespace.
func (g *groups) Composites(namespace string) iter.Seq[*podgroup.Composite] {
	return locked[*podgroup.Composite]{g.objects}.In(namespace)
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
