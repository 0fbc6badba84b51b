package consolidate

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/podgroup"
)

// heldByGroup returns why the group of a pod holds it, "" when nothing of its group does: a plan moves pods one after the other, and so it
// moves no pods that leave together, and none that stay together within a topology.
func heldByGroup(s *cluster.Snapshot, pod *v1.Pod, gates *podgroup.Gates) string {
	group, member := podgroup.Of(pod)
	if !member || gates == nil {
		return ""
	}
	if unit, _, _ := podgroup.UnitOf(s, pod, *gates); unit != nil {
		return fmt.Sprintf("%s leaves whole or not at all (disruption mode All)", unit)
	}
	tree, err := podgroup.TreeOf(s, pod.Namespace, group, *gates)
	if err != nil {
		return fmt.Sprintf("no new pod would be scheduled: %v", err)
	}
	if text := tree.GateText(func(g *podgroup.Group) (n int) {
		for range s.Members(g.Namespace, g.Name) {
			n++
		}
		return n
	}, *gates); text != "" {
		return "no new pod would be scheduled: " + text
	}
	for _, n := range tree.Nodes() {
		if n.Key() != "" && gates.Topology {
			return fmt.Sprintf("%s stays within one %s", n, n.Key())
		}
	}
	return ""
}
