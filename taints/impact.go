package taints

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Departure is a pod that leaves a node because of NoExecute taints.
type Departure struct {
	Pod    *v1.Pod
	Before Deadline // with the node's taints as they are
	After  Deadline // with the new taint; it leaves: Stay is Limited or Leave
	Taint  v1.Taint // the taint that decides After
}

// Impact says who would leave the node, and when, if it got the taint, which replaces one of equal key and effect: the
// pods on the node whose deadline then is not "stay", those that have to leave without it included (Before tells them
// apart). Deadlines count from now; a pod whose time is running already keeps the earlier moment it was given, see
// package eviction/taint. pods may hold pods of other nodes, they are skipped. Neither PodDisruptionBudgets nor the kind
// of pod matter. A taint with another effect than NoExecute makes nobody leave.
//
// The order is total: 1. who leaves at once, 2. the shorter time, 3. namespace, 4. name, 5. UID.
func Impact(node *v1.Node, taint v1.Taint, pods []*v1.Pod, o Options) []Departure {
	list, _ := AddOrUpdate(node.Spec.Taints, taint)
	var leaving []Departure
	for _, p := range pods {
		if p == nil || p.Spec.NodeName != node.Name {
			continue
		}
		ev := Compile(p.Spec.Tolerations, o)
		after := ev.Deadline(list)
		if after.Leaves() {
			leaving = append(leaving, Departure{p, ev.Deadline(node.Spec.Taints), after, list[after.Taint]})
		}
	}
	slices.SortStableFunc(leaving, compareDepartures)
	return leaving
}

func compareDepartures(a, b Departure) int {
	return cmp.Or(
		-cmp.Compare(a.After.Stay, b.After.Stay), // Leave before Limited
		cmp.Compare(a.After.After, b.After.After),
		cmp.Compare(a.Pod.Namespace, b.Pod.Namespace),
		cmp.Compare(a.Pod.Name, b.Pod.Name),
		cmp.Compare(a.Pod.UID, b.Pod.UID),
	)
}
