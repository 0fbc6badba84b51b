package podgroup

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// Placement is a set of nodes that a group may go to as a whole.
type Placement struct {
	// Name is the value of the topology label; "" for the whole cluster too.
	Name string
	// Slots are the nodes, in scan order.
	Slots []int
}

// Nodes has the nodes of a cluster by slot.
type Nodes interface {
	// Node returns the node of slot i; nil for a free slot.
	Node(i int) *v1.Node
}

// Placements divides the nodes of a parent placement by the values of the label key: one placement for each value, sorted by value. Nodes
// without the label are in none. The empty value is a value. key must not be empty.
//
// members are the pods of the group that are on nodes, with their slots (negative: the node has no object). They fix the value: if there
// are any, only the placement of their value is returned, and none if the parent placement has no node of it. The error has
// kube-scheduler's text: a member's node is unknown or has no label, or members are in two domains. O(nodes + members).
func Placements(c Nodes, within []int, key string, members iter.Seq2[*v1.Pod, int]) ([]Placement, error) {
	domain, fixed, err := domainOf(c, key, members)
	if err != nil {
		return nil, fmt.Errorf("cannot determine domain for already scheduled pods: %w", err)
	}
	slots := map[string][]int{}
	for _, i := range within {
		if v, ok := c.Node(i).Labels[key]; ok && (!fixed || v == domain) {
			slots[v] = append(slots[v], i)
		}
	}
	out := make([]Placement, 0, len(slots))
	for _, v := range slices.Sorted(maps.Keys(slots)) {
		out = append(out, Placement{v, slots[v]})
	}
	return out, nil
}

// domainOf returns the value that the members on nodes share; fixed is false without members.
func domainOf(c Nodes, key string, members iter.Seq2[*v1.Pod, int]) (domain string, fixed bool, err error) {
	for pod, i := range members {
		var node *v1.Node
		if i >= 0 {
			node = c.Node(i)
		}
		if node == nil {
			return "", false, fmt.Errorf("getting node for pod %s: nodeinfo not found for node name %q", podinfo.Name(pod), pod.Spec.NodeName)
		}
		v, ok := node.Labels[key]
		switch {
		case !ok:
			return "", false, errors.New("no topology domain found for pod " + podinfo.Name(pod))
		case fixed && v != domain:
			return "", false, fmt.Errorf("more than 1 domain found for pod group: %s, %s", min(v, domain), max(v, domain))
		}
		domain, fixed = v, true
	}
	return domain, fixed, nil
}
