package edit

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/taints"
)

// Departure is a pod that leaves a node because of NoExecute taints.
type Departure struct {
	Pod    *v1.Pod
	Before taints.Deadline // with the node's taints as they are
	After  taints.Deadline // with the new taint; it leaves: Stay is Limited or Leave
	Taint  v1.Taint        // the taint that decides After
}

// Impact returns the pods that would leave the node if it got the taint, which replaces a taint of equal key and effect.
// Pods that leave without the new taint are in the result too; Before says so. Deadlines count from now. A pod whose time
// runs already keeps its earlier deadline (package eviction/taint).
//
// Impact skips nil and the pods of other nodes. PodDisruptionBudgets and the owner of a pod do not matter. A taint whose
// effect is not NoExecute makes no pod leave.
//
// The order is total:
//
//  1. Pods that leave at once.
//  2. The shorter time.
//  3. Namespace.
//  4. Name.
//  5. UID.
func Impact(node *v1.Node, taint v1.Taint, pods []*v1.Pod, o taints.Options) []Departure {
	list := AddOrUpdate(node.Spec.Taints, taint)
	var leaving []Departure
	for _, p := range pods {
		if p == nil || p.Spec.NodeName != node.Name {
			continue
		}
		ev := taints.Compile(p.Spec.Tolerations, o)
		after := ev.Deadline(list)
		if after.Stay == taints.Limited || after.Stay == taints.Leave {
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
