package taints

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
)

// Hint is that of [engine.HintOf].
func (s *state) Hint(o Options) engine.Hint       { return o.wouldHelp }
func (s *cordonState) Hint(o Options) engine.Hint { return o.cordonWouldHelp }

// wouldHelp is the queueing hint of the filter TaintToleration. It reports whether an event could make a pod schedulable
// that the filter rejected. old and new are *v1.Node or *v1.Pod; old is nil for an addition.
//
//   - Node added or updated: the pod tolerates its NoSchedule and NoExecute taints now and did not before.
//   - Pod updated: it is this pod (equal UID).
//
// A deletion does not help. Any other type is an error; a queue treats an error as yes.
func (o Options) wouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	e, err := readEvent(old, new)
	if err != nil || e.gone {
		return false, err
	}
	if e.newPod != nil {
		return e.newPod.UID == pod.UID, nil
	}
	ev := Compile(pod.Spec.Tolerations, o)
	return ev.Tolerates(e.newNode) && (e.oldNode == nil || !ev.Tolerates(e.oldNode)), nil
}

// cordonWouldHelp is the queueing hint of the filter NodeUnschedulable. Its arguments are those of wouldHelp.
//
//   - Node added: spec.unschedulable is not set. Node updated: spec.unschedulable was set and is not set any more.
//   - Pod updated: it is this pod (equal UID), and it tolerates node.kubernetes.io/unschedulable:NoSchedule now.
func (o Options) cordonWouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	e, err := readEvent(old, new)
	if err != nil || e.gone {
		return false, err
	}
	if e.newPod != nil {
		return e.newPod.UID == pod.UID && Compile(e.newPod.Spec.Tolerations, o).toleratesCordon(), nil
	}
	return !e.newNode.Spec.Unschedulable && (e.oldNode == nil || e.oldNode.Spec.Unschedulable), nil
}

// event is an addition or update of one object; gone when there is no new object.
type event struct {
	oldNode, newNode *v1.Node
	newPod           *v1.Pod
	gone             bool
}

func readEvent(old, new any) (event, error) {
	var e event
	var oldIsNode, oldIsPod bool
	switch o := old.(type) {
	case nil:
	case *v1.Node:
		e.oldNode, oldIsNode = o, o != nil
	case *v1.Pod:
		oldIsPod = o != nil
	default:
		return e, fmt.Errorf("old object of an event: got %T, want *v1.Node or *v1.Pod", old)
	}
	switch n := new.(type) {
	case nil:
		e.gone = true
	case *v1.Node:
		e.newNode, e.gone = n, n == nil
		if oldIsPod {
			return e, fmt.Errorf("objects of an event: old is a pod and new is a node")
		}
	case *v1.Pod:
		e.newPod, e.gone = n, n == nil
		if oldIsNode {
			return e, fmt.Errorf("objects of an event: old is a node and new is a pod")
		}
	default:
		return e, fmt.Errorf("new object of an event: got %T, want *v1.Node or *v1.Pod", new)
	}
	return e, nil
}
