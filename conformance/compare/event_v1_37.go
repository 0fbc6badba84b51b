//go:build !k1_36

package compare

import (
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/podberth/podberth/queue"
)

// actionsOf pairs the bits of an action of v1.37 with podberth's.
var actionsOf = map[fwk.ActionType]queue.Action{
	fwk.Add: queue.Add, fwk.Delete: queue.Delete,
	fwk.UpdateNodeAllocatable: queue.UpdateNodeAllocatable, fwk.UpdateNodeLabel: queue.UpdateNodeLabel, fwk.UpdateNodeTaint: queue.UpdateNodeTaint,
	fwk.UpdateNodeCondition: queue.UpdateNodeCondition, fwk.UpdateNodeAnnotation: queue.UpdateNodeAnnotation,
	fwk.UpdateNodeDeclaredFeature: queue.UpdateNodeDeclaredFeature, fwk.UpdatePodLabel: queue.UpdatePodLabel, fwk.UpdatePodScaleDown: queue.UpdatePodScaleDown,
	fwk.UpdatePodToleration: queue.UpdatePodToleration, fwk.UpdatePodSchedulingGatesEliminated: queue.UpdatePodSchedulingGatesEliminated,
	fwk.UpdatePodGeneratedResourceClaim: queue.UpdatePodGeneratedResourceClaim,
}

// Event returns an event in podberth's form. It leaves out the bits that podberth does not have. An event with such a bit alone is an Update.
func Event(e fwk.ClusterEvent) queue.Event {
	out := queue.Event{Resource: string(e.Resource), Label: e.CustomLabel}
	for theirs, ours := range actionsOf {
		if e.ActionType&theirs != 0 {
			out.Action |= ours
		}
	}
	if out.Action == 0 && e.ActionType != 0 {
		out.Action = queue.Update
	}
	return out
}
