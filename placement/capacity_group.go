package placement

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/copies"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/podgroup"
)

// GroupRoom says how many more groups of pods of one kind fit.
type GroupRoom struct {
	// Root is the group that was copied, or the composite group above it with all below: "podgroup/default/train".
	Root string
	// Groups is the number of copies that fit, and Nodes has the nodes of their pods, copy by copy, in the order of the pods.
	Groups int
	Nodes  []string
	// Stop is the decision about the next copy, of which a pod has no node. nil when the caller ended the search.
	Stop *GroupDecision
}

// HowManyGroups returns how many more groups like that of the pods fit, each with all of its pods, on which nodes, and why the next does not.
// Copies of the tree of groups are placed as DecideGroup places them, one after the other, until a pod of one has no node; then all are taken
// back. So a group counts only with all of its pods, also if its minimum is smaller.
//
// pods are the pods to copy, of the groups of one tree, wherever they are. A group with fewer pods than its minimum gets more copies of
// its last pod; one without a pod stays empty. Nodes and nominations of the pods do not count. more is called before each copy with the number of
// copies that have a place; see HowMany. Claims are those of HowMany; those of groups are the claims of the original, and copies share them. The errors are
// ErrNoGroup, those of podgroup.TreeOf, and those of Assume; the GroupRoom is empty then. The cost is that of a DecideGroup for each copy.
func (p *Placer) HowManyGroups(pods []*v1.Pod, gates podgroup.Gates, more func(groups int) bool) (room GroupRoom, err error) {
	defer must.Catch(&err)
	return p.howManyGroups(pods, gates, more), nil
}

func (p *Placer) howManyGroups(pods []*v1.Pod, gates podgroup.Gates, more func(groups int) bool) (room GroupRoom) {
	tree, byGroup := p.templates(pods, gates)
	room.Root = tree.Root().String()
	s := p.snapshot
	defer s.Rollback(s.Mark())
	for more == nil || more(room.Groups) {
		members := copyTree(s, tree, byGroup, room.Groups+1)
		d := p.DecideGroup(members, GroupOptions{Gates: gates})
		if d.Code != filter.Success || !d.whole() {
			room.Stop = &d
			break
		}
		must.Do(p.AssumeGroup(d))
		for k := range d.Members {
			room.Nodes = append(room.Nodes, d.Members[k].Node)
		}
		room.Groups++
	}
	return room
}

// whole reports whether every member is placed.
func (d *GroupDecision) whole() bool {
	for k := range d.Members {
		if !d.Members[k].Placed() {
			return false
		}
	}
	return true
}

// templates returns the tree of the pods, and the pods of each group of it by name.
func (p *Placer) templates(pods []*v1.Pod, gates podgroup.Gates) (tree *podgroup.Tree, byGroup map[string][]*v1.Pod) {
	byGroup = map[string][]*v1.Pod{}
	for _, pod := range pods {
		if pod == nil {
			must.Do(ErrNoGroup)
		}
		name, ok := podgroup.Of(pod)
		if !ok || pod.Namespace != pods[0].Namespace {
			must.Do(ErrNoGroup)
		}
		if tree == nil {
			tree = must.Get(podgroup.TreeOf(p.snapshot, pod.Namespace, name, gates))
		}
		if tree.Home(name) == nil {
			must.Do(ErrNoGroup)
		}
		byGroup[name] = append(byGroup[name], pod)
	}
	if tree == nil {
		must.Do(ErrNoGroup)
	}
	return tree, byGroup
}

// copyTree puts a copy of a tree into the snapshot and returns copies of its pods, which wait.
func copyTree(s *cluster.Snapshot, tree *podgroup.Tree, byGroup map[string][]*v1.Pod, n int) (members []*v1.Pod) {
	free := func(name string) string { // of a group and of a composite group
		for k := n; ; k++ {
			next := fmt.Sprintf("%s-more-%d", name, k)
			if s.Group(tree.Root().Namespace, next) == nil && s.Composite(tree.Root().Namespace, next) == nil {
				return next
			}
		}
	}
	names, used := map[*podgroup.Node]string{}, map[string]bool{}
	for _, node := range tree.Nodes() {
		name := free(node.Name)
		names[node] = name
		if node.Composite != nil {
			c := *node.Composite
			c.Name, c.UID, c.Parent = name, types.UID(name), names[node.Up]
			must.Do(s.Set(&c))
			continue
		}
		g := *node.Group
		g.Name, g.UID, g.Conditions = name, types.UID(name), nil
		if node.Up != nil {
			g.Parent = names[node.Up]
		}
		must.Do(s.Set(&g))
		list := byGroup[node.Name]
		for k := range list {
			members = append(members, copyMember(s, list[k], n, name, used))
		}
		for k := len(list); len(list) > 0 && k < node.Needs(); k++ {
			members = append(members, copyMember(s, list[len(list)-1], n, name, used))
		}
	}
	return members
}

// copyMember returns a copy of a pod that waits in a group of that name, and adds the name of the copy to used.
func copyMember(s *cluster.Snapshot, pod *v1.Pod, n int, group string, used map[string]bool) *v1.Pod {
	c := copies.Of(s, pod, n, used)
	used[c.Name] = true
	c.Spec.NodeName, c.Spec.SchedulingGroup = "", &v1.PodSchedulingGroup{PodGroupName: &group}
	must.Do(copies.SetClaims(s, c))
	return c
}

// HowManyMembers is HowMany for a pod of a group that has its minimum on nodes: each copy joins the group, and is decided with it, so that the group's
// constraints count. The node of the pod does not count. The errors are those of HowMany, ErrNoGroup, and those of podgroup.TreeOf.
func (p *Placer) HowManyMembers(pod *v1.Pod, gates podgroup.Gates, more func(placed int) bool) (room Room, err error) {
	defer must.Catch(&err)
	p.templates([]*v1.Pod{pod}, gates)
	free := *pod
	free.Spec.NodeName = ""
	return p.howMany(&free, more, func(c *v1.Pod) Decision {
		m := p.DecideGroup([]*v1.Pod{c}, GroupOptions{Gates: gates}).Members[0]
		m.Decision.Failure = m.Why()
		return m.Decision
	}), nil
}
