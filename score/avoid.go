package score

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Avoid is the score of NodePreferAvoidPods, a plugin of releases up to v1.21, compiled for one pod. It is immutable and
// safe for concurrent use.
type Avoid struct{ controller *metav1.OwnerReference }

// CompileAvoid prepares the score of NodePreferAvoidPods for a pod. Only pods controlled by a ReplicationController or a
// ReplicaSet can be avoided. nil is an empty pod.
// Rule: documentation of v1.18, "Scheduling Policies" (NodePreferAvoidPodsPriority).
func CompileAvoid(pod *v1.Pod) *Avoid {
	e := &Avoid{}
	if pod == nil {
		return e
	}
	c := metav1.GetControllerOfNoCopy(pod)
	if c != nil && (c.Kind == "ReplicationController" || c.Kind == "ReplicaSet") {
		e.controller = c.DeepCopy()
	}
	return e
}

// Skip reports whether the plugin leaves the pod out: never.
func (e *Avoid) Skip() bool { return false }

// Count reads the annotation scheduler.alpha.kubernetes.io/preferAvoidPods (v1.AvoidPods as JSON) of every node; one that
// is not valid JSON avoids nothing. O(slots).
func (e *Avoid) Count(nodes Nodes) *AvoidState {
	s := &AvoidState{}
	if e.controller == nil {
		return s
	}
	for i := range nodes.Len() {
		if n := nodes.Node(i); n != nil && e.avoided(n.Annotations[v1.PreferAvoidPodsAnnotationKey]) {
			if s.avoided == nil {
				s.avoided = make([]bool, nodes.Len())
			}
			s.avoided[i] = true
		}
	}
	return s
}

func (e *Avoid) avoided(annotation string) bool {
	if annotation == "" {
		return false
	}
	var list v1.AvoidPods
	if json.Unmarshal([]byte(annotation), &list) != nil {
		return false
	}
	for i := range list.PreferAvoidPods {
		c := list.PreferAvoidPods[i].PodSignature.PodController
		if c != nil && c.Kind == e.controller.Kind && c.UID == e.controller.UID {
			return true
		}
	}
	return false
}

// AvoidState scores the nodes of one cluster as of Count. It is immutable and safe for concurrent use.
type AvoidState struct{ avoided []bool }

// Dynamic reports whether the score of a slot can change by events on others: never.
func (s *AvoidState) Dynamic() bool { return false }

// AppendSignature appends the raw score itself: all of it belongs to the slot.
func (s *AvoidState) AppendSignature(dst []int32, i int) []int32 {
	return append(dst, int32(s.Raw(i)))
}

// Raw returns 0 for a node that asks pods of this controller to stay away, 100 otherwise; it needs no normalization.
func (s *AvoidState) Raw(i int) int64 {
	if i < len(s.avoided) && s.avoided[i] {
		return MinScore
	}
	return MaxScore
}
