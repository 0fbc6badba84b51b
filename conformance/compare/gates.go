package compare

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/filter"
)

// gates compares whether SchedulingGates lets a pod into the queue. For a gated pod it compares the condition that the API
// server gives the pod. Admitted pods have that condition already.
func (s *Side) gates(pod *v1.Pod) error {
	status, err := s.Real.PreEnqueue("SchedulingGates", pod)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("pod %s/%s", pod.Namespace, pod.Name)
	message, gated := filter.Gated(pod)
	code := filter.Success
	if gated {
		code = filter.UnschedulableAndUnresolvable
	}
	s.Seen.Produced("gates", status.Code().String())
	same(s, "gates", what+" code", status.Code().String(), code.String())
	same(s, "gates", what+" message", status.Message(), message)
	if message != "" {
		s.Seen.Produced("reason", normalText(message))
	}

	bare := pod.DeepCopy()
	bare.Status.Conditions = nil
	var theirs v1.PodCondition
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled {
			theirs = c
		}
	}
	ours, _ := admission.GatedCondition(bare)
	same(s, "gates", what+" condition", text(theirs), text(ours))
	return nil
}

func text(c v1.PodCondition) string {
	return fmt.Sprint(c.Type, " ", c.Status, " ", c.Reason, " ", c.Message)
}
