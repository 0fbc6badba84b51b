package gang

import (
	"fmt"
	"slices"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/podgroup"
)

// lower makes the minimum of one group of the tree smaller: by one, or else down to what exists, or to what fits. Groups come before composite groups,
// because a smaller minGroupCount gives up a whole group.
func (e *explainer) lower() {
	all := slices.Clone(e.m.Tree.Nodes())
	slices.SortStableFunc(all, func(a, b *podgroup.Node) int { return children(a) - children(b) })
	tried := 0
	for _, less := range []func(n *podgroup.Node) int32{
		func(n *podgroup.Node) int32 { return *n.Minimum - 1 },
		func(n *podgroup.Node) int32 { // too few exist, so that none was tried
			if k := int32(e.existing(n)); k < *n.Minimum-1 {
				return k
			}
			return 0
		},
		func(n *podgroup.Node) int32 { return min(*n.Minimum-2, int32(e.fitted(n))) },
	} {
		for _, n := range all {
			if n.Minimum == nil || less(n) < 1 {
				continue
			}
			if tried++; tried > tries {
				e.d.Untried = append(e.d.Untried, fmt.Sprintf("%s: more than %d groups", Lower, tries))
				return
			}
			least := less(n)
			s := e.m.q.Snapshot.Fork()
			setMinimum(s, n, least)
			if e.helps(s, e.m.Members) {
				e.add(Help{Kind: Lower, Text: minimumText(n, least)})
				return
			}
		}
	}
}

func children(n *podgroup.Node) int { return len(n.Children) }

// existing counts the members of a group, or the groups of a composite group.
func (e *explainer) existing(n *podgroup.Node) int {
	if n.Group == nil {
		return len(n.Children)
	}
	count := len(e.m.Scheduled[n])
	for _, leaf := range e.m.Leaf {
		if leaf == n {
			count++
		}
	}
	return count
}

// fitted counts the members of a group, or the groups of a composite group, that run or found nodes before the group was given up.
func (e *explainer) fitted(n *podgroup.Node) (count int) {
	if n.Group == nil {
		for _, child := range n.Children {
			if e.fitted(child) >= child.Needs() {
				count++
			}
		}
		return count
	}
	for k, leaf := range e.m.Leaf {
		if leaf == n && e.found[k] {
			count++
		}
	}
	return count + len(e.m.Scheduled[n])
}

// setMinimum writes a minimum into the object of a group.
func setMinimum(s *cluster.Snapshot, n *podgroup.Node, least int32) {
	if n.Group != nil {
		g := *n.Group
		g.Minimum = &least
		must.Do(s.Set(&g))
		return
	}
	c := *n.Composite
	c.Minimum = &least
	must.Do(s.Set(&c))
}

// minimumText says which field gets which value. The API server lets minCount change; of a composite group the whole policy is immutable.
func minimumText(n *podgroup.Node, least int32) string {
	if n.Group == nil {
		return fmt.Sprintf("make CompositePodGroup %s/%s again with spec.schedulingPolicy.gang.minGroupCount %d", n.Namespace, n.Name, least)
	}
	return fmt.Sprintf("PodGroup %s/%s: spec.schedulingPolicy.gang.minCount %d", n.Namespace, n.Name, least)
}
