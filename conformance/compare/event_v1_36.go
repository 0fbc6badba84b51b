//go:build k1_36

package compare

import (
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/podberth/podberth/queue"
)

// Event returns the event in podberth's form.
func Event(e fwk.ClusterEvent) queue.Event {
	return queue.Event{Resource: string(e.Resource), Action: queue.Action(e.ActionType), Label: e.CustomLabel}
}
