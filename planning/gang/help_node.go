package gang

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/nodepool"
	"github.com/podberth/podberth/podgroup"
)

// addNode adds one more of each kind of node to each domain, the domain with the most room first.
func (e *explainer) addNode() {
	root := e.m.Tree.Root()
	all, kinds := e.m.domains(root, e.m.slots), e.m.below(root)
	room := func(d podgroup.Placement) (sum int) {
		for _, i := range d.Slots {
			sum += e.m.most(i, kinds)
		}
		return sum
	}
	slices.SortStableFunc(all, func(a, b podgroup.Placement) int { return room(b) - room(a) })
	tried := 0
	for _, d := range all {
		seen := map[string]bool{}
		for _, i := range d.Slots {
			node := e.m.s.Node(i)
			template := fmt.Sprint(node.Status.Allocatable, node.Spec.Taints, e.m.class[i])
			if seen[template] {
				continue
			}
			seen[template] = true
			if tried++; tried > tries {
				e.d.Untried = append(e.d.Untried, fmt.Sprintf("%s: more than %d kinds of nodes in domains", AddNode, tries))
				return
			}
			s := e.m.q.Snapshot.Fork()
			must.Do(s.Set(like(node, s)))
			if e.helps(s, e.m.Members) {
				pool, _ := nodepool.Of(node)
				text := fmt.Sprintf("add a node like %s", node.Name)
				if pool != "" {
					text = fmt.Sprintf("add a node of pool %s, like %s,", pool, node.Name)
				}
				if d.Name != "" {
					text += fmt.Sprintf(" in %s %s", short(e.m.key(root)), d.Name)
				}
				e.add(Help{Kind: AddNode, Text: strings.TrimSuffix(text, ","), Nodes: []string{node.Name}, Pool: pool})
				return
			}
		}
	}
}

// like returns a node like another, with a name of its own.
func like(node *v1.Node, s *cluster.Snapshot) *v1.Node {
	n := node.DeepCopy()
	for k := 1; s.Slot(n.Name) >= 0; k++ {
		n.Name = fmt.Sprintf("%s-more-%d", node.Name, k)
	}
	n.UID = ""
	if _, ok := n.Labels[v1.LabelHostname]; ok {
		n.Labels[v1.LabelHostname] = n.Name
	}
	n.Spec.Unschedulable = false
	return n
}
